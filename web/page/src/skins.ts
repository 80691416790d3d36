// skins.ts: the character's skins, one row each, with their costs and with errors of one kind at a time.

import type { Session } from './session';
import type { Figures, Measure, Skin } from './show';
import { el, segments } from './dom';
import { bytesText, short } from './heat';
import { bestOf, errorsOf, firstKind, trainedOn, type Kind, type Told } from './measured';

// Distinguished by hue; the same in the table and in the curves.
export const INKS = 8;
export const ink = (skin: number) => `ink${skin % INKS}`;

interface Column {
  id: string;
  label: string;
  title: string;
  error?(measure: Measure): number | null;
  cost?(skin: Skin, figures: Figures | null | undefined): number | null;
  text(value: number, figures: Figures | null | undefined): (string | Node)[];
}

const digits = (value: number) => value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0);

const COLUMNS: Column[] = [
  { id: 'error', label: 'error', title: 'Relative to linear blending with the weights of the file: 1 is no better than that',
    error: (measure) => measure.rel_err, text: (value) => [value.toFixed(3).replace(/^0/, '')] },
  { id: 'rms', label: 'rms', title: "Root mean square distance, in the file's unit of length", error: (measure) => measure.rms, text: (value) => [short(value)] },
  { id: 'roughness', label: 'rough', title: 'How much rougher the surface is than the true one', error: (measure) => measure.roughness,
    text: (value) => [value.toFixed(2)] },
  { id: 'bytes', label: 'size', title: 'Size of the skin in bytes', cost: (skin) => skin.bytes, text: (value) => [bytesText(value)] },
  { id: 'nanoseconds', label: 'ns/v', title: 'Nanoseconds per vertex for a whole frame on one core of this server: the median of many frames, ± the spread of the middle half',
    cost: (_, figures) => figures?.nanoseconds ?? null,
    text: (value, figures) => [digits(value), el('small', {}, ` ±${digits(figures ? (figures.nanoseconds_high - figures.nanoseconds_low) / 2 : 0)}`)] },
];
const ERRORS = COLUMNS.filter(({ error }) => error).length;

export function skinTable(session: Session) {
  const { store } = session;
  let kind: Kind = 'holdout';
  let sorted: { column: Column | null; down: boolean } = { column: null, down: false };
  const clipName = () => session.clips()[store.get().clip]?.name ?? '';
  const choice = segments<Kind>('Errors', [
    { value: 'holdout', label: 'held out', title: 'On examples that the fit did not see' },
    { value: 'train', label: 'training', title: 'On the examples that the skin was trained on, which flatters it' },
    { value: 'clip', label: 'on the clip', title: 'Measures all skins on the clip of the timeline' },
  ], () => kind, choose);
  const body = el('tbody');
  const heads = COLUMNS.map((column) => el('th', { scope: 'col', className: 'number', aria: { sort: 'none' } },
    el('button', { type: 'button', title: column.title, on: { click: () => sort(column) } }, column.label)));
  const nameHead = el('th', { scope: 'col' }, el('button', { type: 'button', title: 'In the order of the bundle', on: { click: () => sort(null) } }, 'skin'));
  const note = el('p', { className: 'table-note' });
  const head = el('div', { className: 'skins-head' }, el('span', {}, 'Errors'), choice.group);
  const table = el('table', { className: 'skins', role: 'grid', aria: { label: 'Skins' } }, el('colgroup', {}, el('col'), ...COLUMNS.map(() => el('col'))), el('thead', {}, el('tr', {}, nameHead, ...heads)), body);
  const holder = el('section', { className: 'skins-holder', aria: { label: 'Skins of the character' } }, head, table, note);

  function choose(value: Kind) {
    kind = value;
    choice.update();
    if (kind === 'clip') void measureAll();
    update();
  }

  // One after another, the open skin first: each takes the server a while.
  async function measureAll() {
    const character = session.character();
    const { clip, skin } = store.get();
    await session.pictured(); // which needs the same processor
    for (const one of [character?.skins[skin], ...(character?.skins ?? [])]) {
      if (session.character() !== character || store.get().clip !== clip || kind !== 'clip') return;
      if (one) await session.measure(one, clip);
    }
  }

  function sort(column: Column | null) {
    sorted = { column, down: sorted.column === column && column ? !sorted.down : false };
    COLUMNS.forEach((other, i) => heads[i]!.setAttribute('aria-sort', other === column ? (sorted.down ? 'descending' : 'ascending') : 'none'));
    update();
  }

  function value(column: Column, skin: Skin, told: Told): number | null {
    if (column.cost) return column.cost(skin, session.figures(skin));
    return told.measure ? column.error!(told.measure) : null;
  }

  function order(skins: Skin[], told: Told[]): number[] {
    const indices = skins.map((_, i) => i);
    const { column, down } = sorted;
    if (!column) return indices;
    const key = (i: number) => value(column, skins[i]!, told[i]!) ?? Infinity;
    return indices.sort((a, b) => (key(a) - key(b)) * (down ? -1 : 1) || a - b);
  }

  // Only like is compared.
  const best = (column: Column, skins: Skin[], told: Told[]) =>
    bestOf(skins.map((skin, i) => (column.cost || told[i]!.comparable ? value(column, skin, told[i]!) : null)));

  function cell(column: Column, skin: Skin, told: Told, most: number) {
    const figures = session.figures(skin);
    const now = value(column, skin, told);
    const coming = now === null && (column.cost ? figures === undefined && column.id !== 'bytes' : told.measure === null);
    const compared = column.cost !== undefined || told.comparable;
    const classes = ['number', now !== null && compared && now === most && 'best', coming && 'waiting', !compared && 'apart'].filter(Boolean).join(' ');
    return el('td', { className: classes }, ...(now === null ? [coming ? '·' : '–'] : column.text(now, figures)));
  }

  // Instead of errors that the skin does not have: a way to get some.
  function offer(skin: Skin) {
    const clip = clipName();
    return el('td', { colSpan: ERRORS, className: 'number' }, el('button', {
      type: 'button', className: 'tiny', title: `Measures all skins on ${clip}`, aria: { label: `Measure on ${clip}: ${skin.name}` },
      on: { click: (event) => { event.stopPropagation(); choose('clip'); } },
    }, `measure on ${clip}`));
  }

  function row(skins: Skin[], index: number, told: Told, bests: number[]) {
    const skin = skins[index]!;
    const { skin: first, other, layout } = store.get();
    const chosen = index === first;
    const offered = told.measure === undefined && skin.measure && session.clips()[store.get().clip]?.truth;
    const cells = COLUMNS.map((column, i) => (offered && column.error ? (i ? null : offer(skin)) : cell(column, skin, told, bests[i]!)));
    const letter = layout !== 'skins' ? '' : chosen ? 'A' : index === other ? 'B' : '';
    return el('tr', { aria: { selected: String(chosen) }, data: { skin: String(index) }, tabIndex: chosen ? 0 : -1, on: { click: () => store.set({ skin: index }) } },
      el('th', { scope: 'row', title: skin.name }, el('i', { className: `swatch ${ink(index)}${letter && ' letter'}` }, letter), el('span', {}, skin.name),
        kind === 'clip' && told.measure && !told.comparable && el('sup', {}, '†')), ...cells);
  }

  function update() {
    const character = session.character();
    holder.hidden = !character;
    if (!character) return;
    const { skins } = character;
    const clip = clipName();
    const told = errorsOf(skins, kind, clip, (skin) => session.measureOf(skin, store.get().clip));
    const focused = body.contains(document.activeElement);
    const bests = COLUMNS.map((column) => best(column, skins, told));
    body.replaceChildren(...order(skins, told).map((index) => row(skins, index, told[index]!, bests)));
    if (focused) body.querySelector<HTMLElement>('[aria-selected=true]')?.focus();
    table.hidden = head.hidden = skins.length === 0;
    const truth = Boolean(session.clips()[store.get().clip]?.truth);
    choice.buttons[0]!.disabled = !skins.some(({ facts }) => facts?.holdout);
    choice.buttons[1]!.disabled = !skins.some(({ facts }) => facts?.train);
    choice.buttons[2]!.disabled = !truth;
    choice.buttons[2]!.textContent = truth ? `on ${clip}` : 'on the clip';
    choice.update();
    head.hidden ||= choice.buttons.every(({ disabled }) => disabled);
    table.classList.toggle('costs', head.hidden);
    note.textContent = skins.length ? says(skins, told, clip, truth) : session.can.fit ? 'No skin yet. Fit one in the Fit panel.' : 'No skin is open. Make one with `pelt fit`.';
  }

  // What the errors are of, and why some of them are not compared.
  function says(skins: Skin[], told: Told[], clip: string, truth: boolean): string {
    const there = told.filter(({ measure }) => measure);
    if (kind === 'clip') {
      if (!truth) return session.hasTruth() ? 'This clip has no truth to measure on.' : 'No clip has a truth, so there are no errors to show.';
      const unknown = skins.some((skin) => trainedOn(skin, clip) === null);
      return `Measured on ${clip}, all frames.${there.some(({ comparable }) => !comparable) ? ` † was trained on ${clip}${unknown ? ', or it is not recorded' : ''}: not compared.` : ''}`;
    }
    const alike = there.every(({ comparable }) => comparable);
    return (kind === 'holdout' ? 'On examples that the fit did not see.' : 'On the examples that each skin was trained on, which flatters it.')
      + (there.length > 1 && !alike ? ' The examples differ between skins, so the errors are not compared.' : '');
  }

  body.addEventListener('keydown', (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const rows = [...body.children] as HTMLElement[];
    const at = rows.indexOf(document.activeElement as HTMLElement);
    if (!step || at < 0) return;
    event.preventDefault();
    event.stopPropagation();
    const next = rows[at + step];
    if (next) store.set({ skin: Number(next.dataset.skin) });
  });
  // A kind that no skin has any more, or yet, is left: the first fit may have finished.
  session.on('shown', () => {
    const skins = session.character()?.skins ?? [];
    const first = !body.childElementCount; // there was none to choose a kind for
    if (first || (kind !== 'clip' && !skins.some(({ facts }) => facts?.[kind as 'train' | 'holdout']))) choose(firstKind(skins));
    else choose(kind); // measures what is new
  });
  session.on('subject', () => choose(firstKind(session.character()?.skins ?? [])));
  session.on('figures', update);
  store.watch(['clip'], () => { if (kind === 'clip') void measureAll(); });
  store.watch(['skin', 'other', 'layout', 'subject', 'clip'], update);
  update();
  return holder;
}
