// skins.ts: the character's skins, one row each, with their costs and errors.

import type { Session } from './session';
import type { Figures, Skin } from './show';
import { el } from './dom';
import { bytesText, short } from './heat';

// Distinguished by hue; the same in the table and in the curves.
export const INKS = 8;
export const ink = (skin: number) => `ink${skin % INKS}`;

interface Column {
  id: string;
  label: string;
  title: string;
  value(skin: Skin, figures: Figures | null | undefined): number | null;
  text(value: number): string;
}

const COLUMNS: Column[] = [
  { id: 'error', label: 'error', title: 'Relative to a linear blend with the weights of the file: 1 is no better than that',
    value: (_, figures) => figures?.rel_err ?? null, text: (value) => value.toFixed(3).replace(/^0/, '') },
  { id: 'rms', label: 'rms', title: "Root mean square distance, in the file's unit of length", value: (_, figures) => figures?.rms ?? null, text: short },
  { id: 'roughness', label: 'rough', title: 'How much rougher the surface is than the true one', value: (_, figures) => figures?.roughness ?? null,
    text: (value) => value.toFixed(2) },
  { id: 'bytes', label: 'size', title: 'Bytes of the skin', value: (skin) => skin.bytes, text: bytesText },
  { id: 'nanoseconds', label: 'ns/v', title: 'Nanoseconds per vertex for a whole frame, on one core of the measuring machine',
    value: (_, figures) => figures?.nanoseconds ?? null, text: (value) => value.toFixed(value < 10 ? 2 : 1) },
];

export function skinTable(session: Session) {
  const { store } = session;
  let sorted: { column: Column | null; down: boolean } = { column: null, down: false };
  const body = el('tbody');
  const heads = COLUMNS.map((column) => el('th', { scope: 'col', className: 'number', aria: { sort: 'none' } },
    el('button', { type: 'button', title: column.title, on: { click: () => sort(column) } }, column.label)));
  const nameHead = el('th', { scope: 'col' }, el('button', { type: 'button', title: 'In the order of the bundle', on: { click: () => sort(null) } }, 'skin'));
  const note = el('p', { className: 'table-note' });
  const table = el('table', { className: 'skins', role: 'grid', aria: { label: 'Skins' } }, el('thead', {}, el('tr', {}, nameHead, ...heads)), body);
  const holder = el('section', { className: 'skins-holder', aria: { label: 'Skins of the character' } }, table, note);

  function sort(column: Column | null) {
    sorted = { column, down: sorted.column === column && column ? !sorted.down : false };
    COLUMNS.forEach((other, i) => heads[i]!.setAttribute('aria-sort', other === column ? (sorted.down ? 'descending' : 'ascending') : 'none'));
    update();
  }

  function order(skins: Skin[]): number[] {
    const indices = skins.map((_, i) => i);
    const { column, down } = sorted;
    if (!column) return indices;
    const key = (i: number) => column.value(skins[i]!, session.figures(skins[i]!)) ?? Infinity;
    return indices.sort((a, b) => (key(a) - key(b)) * (down ? -1 : 1) || a - b);
  }

  // The best of a column is bold, if there is a choice.
  function best(skins: Skin[], column: Column): number {
    const values = skins.map((skin) => column.value(skin, session.figures(skin))).filter((value): value is number => value !== null);
    return values.length > 1 ? Math.min(...values) : NaN;
  }

  function row(skins: Skin[], index: number, bests: number[]) {
    const skin = skins[index]!;
    const figures = session.figures(skin);
    const chosen = index === store.get().skin;
    const cells = COLUMNS.map((column, i) => {
      const value = column.value(skin, figures);
      const waiting = value === null && figures === undefined && skin.figures !== null && column.id !== 'bytes';
      return el('td', { className: `number${value !== null && value === bests[i] ? ' best' : ''}${waiting ? ' waiting' : ''}` }, value === null ? (waiting ? '·' : '–') : column.text(value));
    });
    return el('tr', { aria: { selected: String(chosen) }, data: { skin: String(index) }, tabIndex: chosen ? 0 : -1, on: { click: () => store.set({ skin: index }) } },
      el('th', { scope: 'row', title: skin.name }, el('i', { className: `swatch ${ink(index)}` }), el('span', {}, skin.name)), ...cells);
  }

  function update() {
    const character = session.character();
    holder.hidden = !character;
    if (!character) return;
    const { skins } = character;
    const focused = body.contains(document.activeElement);
    const bests = COLUMNS.map((column) => best(skins, column));
    body.replaceChildren(...order(skins).map((index) => row(skins, index, bests)));
    if (focused) body.querySelector<HTMLElement>('[aria-selected=true]')?.focus();
    table.hidden = skins.length === 0;
    note.textContent = skins.length ? measuredOn(skins) : session.can.fit ? 'No skin yet. Fit one in the Fit panel.' : 'No skin was given. `pelt fit` makes one.';
  }

  // Says what the figures were measured on: training errors flatter.
  function measuredOn(skins: Skin[]): string {
    const kinds = new Set(skins.map((skin) => session.figures(skin)?.on).filter((on): on is string => Boolean(on)));
    if (!kinds.size) return '';
    const words: Record<string, string> = { 'held out': 'on examples the fit did not see', training: 'on the training examples', measured: 'measured over all clips with a truth' };
    return `Errors ${[...kinds].map((kind) => words[kind] ?? kind).join('; ')}.`;
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
  session.on('shown', update);
  session.on('subject', update);
  session.on('figures', update);
  store.watch(['skin', 'subject'], update);
  update();
  return holder;
}
