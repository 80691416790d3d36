// share.ts: what is seen, for elsewhere: a picture, a movie, a link.

import type { Session } from './session';
import { download, fileName } from './download';
import { el } from './dom';
import { icon } from './icons';
import { linkTo } from './link';
import { movieFile, movieType } from './movie';
import { pictureFile, pictureSize } from './picture';

const SCALES = [1, 2, 4];

function pictureRow(session: Session, name: () => string) {
  const buttons = SCALES.map((scale) => el('button', {
    type: 'button', className: 'tiny', aria: { label: `Save a picture, ${scale}× the size` },
    on: { click: () => void pictureFile(session, scale).then((blob) => download(blob, `${name()}.png`)).catch((thrown) => session.problem(thrown)) },
  }, `${scale}×`));
  const update = () => buttons.forEach((button, i) => {
    button.disabled = !session.stage.renderer || !session.stage.mesh;
    button.title = `${pictureSize(session, SCALES[i]!).join(' × ')} pixels`;
  });
  return { update, row: el('div', { className: 'share-row' }, el('b', {}, 'Picture'), el('span', { className: 'buttons' }, ...buttons), el('p', {}, 'PNG of the stage as it is now')) };
}

function movieRow(session: Session, name: () => string) {
  let stop: AbortController | null = null;
  const bar = el('progress', { max: 1, value: 0, hidden: true, aria: { label: 'Recorded so far' } });
  const record = el('button', { type: 'button', className: 'tiny', on: { click: () => (stop ? stop.abort() : void run()) } }, 'Record');
  const note = el('p');
  const update = () => {
    const type = movieType();
    const frames = session.clips()[session.store.get().clip]?.frames ?? 0;
    record.disabled = !stop && (!type || frames < 2 || !session.stage.renderer || !session.stage.mesh);
    note.textContent = !type ? 'This browser cannot record movies: it has no MediaRecorder for WebM.'
      : frames < 2 ? 'There is no clip to record.' : `The whole clip, as ${type.includes('mp4') ? 'MP4' : 'WebM'}`;
  };
  async function run() {
    stop = new AbortController();
    record.textContent = 'Stop';
    bar.hidden = false;
    try {
      const movie = await movieFile(session, (share) => { bar.value = share; }, stop.signal);
      download(movie, `${name()}.${movie.type.includes('mp4') ? 'mp4' : 'webm'}`);
    } catch (thrown) {
      session.problem(thrown);
    }
    stop = null;
    record.textContent = 'Record';
    bar.hidden = true;
    bar.value = 0;
    update();
  }
  return { update, row: el('div', { className: 'share-row' }, el('b', {}, 'Movie'), el('span', { className: 'buttons' }, record), note, bar) };
}

function linkRow(session: Session) {
  const field = el('input', { type: 'text', readOnly: true, className: 'link-field', aria: { label: 'Link to this view' }, on: { focus: () => field.select(), keydown: (event) => { if (event.key !== 'Escape') event.stopPropagation(); } } });
  const copy = el('button', { type: 'button', className: 'tiny', on: { click: () => void take() } }, 'Copy');
  async function take() {
    field.value = linkTo(session);
    try {
      await navigator.clipboard.writeText(field.value);
      session.say('The link was copied to the clipboard.');
    } catch {
      field.select();
      session.say('The browser blocks the clipboard. The link is selected: copy it by hand.');
    }
  }
  const note = el('p');
  const update = () => {
    field.value = session.subject() ? linkTo(session) : '';
    copy.disabled = !session.subject();
    note.textContent = session.local ? 'Opens this view again wherever the same character is open.' : session.server ? 'Opens this view again while `pelt view` runs. It does not contain the key, so open it in the browser that has this page open.' : 'Opens this view again.';
  };
  return { update, row: el('div', { className: 'share-row' }, el('b', {}, 'Link'), el('span', { className: 'buttons' }, copy), note, field) };
}

export function shareMenu(session: Session) {
  const name = () => fileName(session.subject()?.name ?? '', session.skinNow()?.name ?? '', session.clips()[session.store.get().clip]?.name ?? '', String(session.store.get().frame));
  const rows = [pictureRow(session, name), movieRow(session, name), linkRow(session)];
  const menu = el('div', { className: 'share', role: 'dialog', hidden: true, aria: { label: 'Picture, movie, link' } }, ...rows.map(({ row }) => row));
  const button = el('button', { type: 'button', className: 'plain', title: 'Picture, movie, link (S)', aria: { label: 'Picture, movie, link', haspopup: 'dialog', expanded: 'false' } }, icon('share'));
  const holder = el('div', { className: 'share-holder' }, button, menu);
  const open = (on: boolean) => {
    if (on) for (const { update } of rows) update();
    menu.hidden = !on;
    button.setAttribute('aria-expanded', String(on));
    if (on) menu.querySelector<HTMLElement>('button:not(:disabled)')?.focus();
  };
  button.addEventListener('click', () => open(menu.hidden));
  holder.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape' || menu.hidden) return;
    event.stopPropagation();
    open(false);
    button.focus();
  });
  document.addEventListener('pointerdown', (event) => { if (!holder.contains(event.target as Node) && !(event.target as Element).closest('.messages')) open(false); });
  return { holder, toggle: () => open(menu.hidden) };
}
