// skin_actions.ts: what can be done with the open skin: save its file, or take it off the list, which can be undone. A fit
// can be undone in the same way: its skin goes off the list.

import type { App } from './app';
import type { Session } from './session';
import type { Skin } from './show';
import { download, fileName } from './download';
import { el } from './dom';

async function list(app: App, character: number, skin: number, listed: boolean) {
  await app.data.post('api/skin', { character, skin, listed });
  await app.refresh();
}

// A skin has come: undoing it takes it off the list.
export function fitted(app: App, character: number, skin: Skin) {
  app.history.add({ says: `fit ${skin.name}`, undo: () => list(app, character, skin.index, false), redo: () => list(app, character, skin.index, true) });
}

async function remove(session: Session) {
  const subject = session.subject();
  const skin = session.skinNow();
  if (subject?.kind !== 'character' || !skin || !session.server) return;
  await list(session, subject.index, skin.index, false);
  session.history.add({ says: `remove ${skin.name}`, undo: () => list(session, subject.index, skin.index, true), redo: () => list(session, subject.index, skin.index, false) });
  session.say(`${skin.name} was removed from the page; undo brings it back. Its file, if any, stays where it is.`);
}

async function savePlain(session: Session) {
  const skin = session.skinNow();
  if (!skin?.plain) return;
  session.say(`Exporting ${skin.name} as plain glTF for any engine …`);
  download(new Blob([await session.data.bytes(skin.plain)]), `${fileName(session.subject()?.name ?? '', skin.name)}.glb`);
}

async function save(session: Session) {
  const skin = session.skinNow();
  if (skin) download(new Blob([await session.data.bytes(skin.file)]), `${fileName(skin.name)}.pelt`);
}

export function skinActions(session: Session) {
  const run = (call: (session: Session) => Promise<void>) => void call(session).catch((thrown) => session.problem(thrown));
  const name = el('span', { className: 'skin-named' });
  const saves = el('button', { type: 'button', className: 'quiet-link', on: { click: () => run(save) } }, 'Save file');
  const plains = el('button', { type: 'button', className: 'quiet-link', title: 'Save the character with this skin and its clips as plain glTF for any engine', on: { click: () => run(savePlain) } }, 'Save .glb');
  const removes = el('button', { type: 'button', className: 'quiet-link', title: 'Remove the skin from the list (Delete)', on: { click: () => run(remove) } }, 'Remove');
  const holder = el('div', { className: 'skin-actions', role: 'group' }, name, el('span', { className: 'gap' }), saves, plains, removes);
  const update = () => {
    const skin = session.skinNow();
    holder.hidden = !skin;
    removes.hidden = !session.server;
    plains.hidden = !skin?.plain;
    plains.setAttribute('aria-label', `Save ${skin?.name} as plain glTF`);
    name.textContent = skin?.name ?? '';
    saves.setAttribute('aria-label', `Save file of ${skin?.name}`);
    removes.setAttribute('aria-label', `Remove ${skin?.name} from the list`);
  };
  document.addEventListener('keydown', (event) => {
    if (event.key !== 'Delete' || !(event.target as HTMLElement).closest('.skins tbody')) return;
    event.preventDefault();
    run(remove);
  });
  session.store.watch(['skin', 'subject'], update);
  session.on('shown', update);
  session.on('skin', update);
  update();
  return holder;
}
