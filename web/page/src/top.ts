// top.ts: the top bar: character, deformation path, dark or light, help.

import type { Session } from './session';
import type { Subject } from './app';
import { el, segments } from './dom';
import { icon } from './icons';
import { short } from './heat';
import { onTheme, switchTheme, theme } from './theme';
import type { Path } from './store';

const count = (number: number, one: string, many = `${one}s`) => `${number.toLocaleString('en')} ${number === 1 ? one : many}`;

export function about(subject: Subject): string {
  if (subject.kind === 'light') return `${subject.box.width} × ${subject.box.height} pixels, ${count(subject.box.keys.length, 'key point')}`;
  if (subject.kind === 'face') return `${count(subject.box.points, 'point')}, ${count(subject.box.keys.length, 'key point')}, ${count(subject.box.clips.length, 'clip')}`;
  const { vertices, joints, clips, skins } = subject.character;
  return `${count(vertices, 'vertex', 'vertices')}, ${count(joints.length, 'joint')}, ${count(clips.length, 'clip')}, ${count(skins.length, 'skin')}`;
}

const KIND = { character: '', face: 'key points', light: 'light' };

// A button that opens the list of subjects.
function subjectMenu(session: Session) {
  const name = el('span', { className: 'subject-name' });
  const detail = el('span', { className: 'subject-detail' });
  const list = el('ul', { className: 'menu', role: 'listbox', aria: { label: 'Characters' }, hidden: true });
  const button = el('button', { type: 'button', className: 'subject', aria: { haspopup: 'listbox', expanded: 'false' } },
    el('span', { className: 'unseen' }, 'Character:'), name, detail, icon('down'));
  const open = (on: boolean) => {
    list.hidden = !on;
    button.setAttribute('aria-expanded', String(on));
    if (on) (list.querySelector<HTMLElement>('[aria-selected=true]') ?? list.querySelector<HTMLElement>('li'))?.focus();
  };
  const choose = (index: number) => {
    session.store.set({ subject: index });
    open(false);
    button.focus();
  };
  const item = (subject: Subject, index: number) => el('li', {
    role: 'option', tabIndex: -1, aria: { selected: String(index === session.store.get().subject) }, data: { index: String(index) },
    on: { click: () => choose(index) },
  }, el('b', {}, subject.name), KIND[subject.kind] && el('em', {}, KIND[subject.kind]), el('span', {}, about(subject)));
  const update = () => {
    const now = session.subject();
    name.textContent = now?.name ?? 'nothing open';
    detail.textContent = now ? about(now) : '';
    document.title = now ? `${now.name} · pelt` : 'pelt';
    list.replaceChildren(...session.subjects().map(item));
  };
  button.addEventListener('click', () => open(list.hidden));
  list.addEventListener('keydown', (event) => {
    const items = [...list.children] as HTMLElement[];
    const at = items.indexOf(document.activeElement as HTMLElement);
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key] ?? 0;
    if (step) items[Math.min(items.length - 1, Math.max(0, at + step))]?.focus();
    if (event.key === 'Enter' || event.key === ' ') choose(at);
    if (event.key === 'Escape') { open(false); button.focus(); }
    if (step || ['Enter', ' ', 'Escape'].includes(event.key)) { event.preventDefault(); event.stopPropagation(); }
  });
  document.addEventListener('pointerdown', (event) => { if (!holder.contains(event.target as Node)) open(false); });
  const holder = el('div', { className: 'subject-holder' }, button, list);
  session.on('shown', update);
  session.store.watch(['subject'], update);
  update();
  return holder;
}

// wasm, WebGPU or WebGL 2, and the device's difference from wasm.
function pathSwitch(session: Session) {
  const { store } = session;
  const { group, update } = segments<Path>('Deformed by', [
    { value: 'wasm', label: 'wasm', title: 'The C run time, with SIMD, on one core' },
    { value: 'webgpu', label: 'WebGPU', title: 'Compute shaders; checked against wasm in every frame' },
    { value: 'webgl2', label: 'WebGL 2', title: 'Vertex shaders; checked against wasm in every frame' },
  ], () => store.get().path, (path) => store.set({ path }));
  const said = el('span', { className: 'agreement', role: 'status', aria: { live: 'polite' } });
  store.watch(['path'], update);
  session.on('deformed', () => {
    const { agreement } = session.engine;
    const diagonal = session.character()?.diagonal ?? 1;
    said.textContent = agreement ? `agrees with wasm: at most ${short(agreement.distance)} apart, ${short(agreement.distance / diagonal)} of the diagonal` : '';
    said.classList.toggle('bad', agreement !== null && !(agreement.distance <= 2e-6 * diagonal));
    if (agreement && said.classList.contains('bad')) said.textContent = `differs from wasm by ${short(agreement.distance)}, ${short(agreement.distance / diagonal)} of the diagonal`;
  });
  const holder = el('div', { className: 'paths' }, said, group);
  const fit = () => { holder.hidden = session.subject()?.kind !== 'character'; };
  store.watch(['subject'], fit);
  return holder;
}

export function topBar(session: Session, help: () => void) {
  const themeButton = el('button', { type: 'button', className: 'plain', title: 'Dark or light (T)', aria: { label: 'Dark or light' }, on: { click: switchTheme } });
  const face = () => themeButton.replaceChildren(icon(theme() === 'dark' ? 'light' : 'dark'));
  onTheme(face);
  face();
  return el('header', { className: 'top' },
    el('h1', { className: 'brand' }, 'pelt'),
    subjectMenu(session),
    el('div', { className: 'gap' }),
    pathSwitch(session),
    themeButton,
    el('button', { type: 'button', className: 'plain', title: 'Keys (?)', aria: { label: 'Help' }, on: { click: help } }, icon('help')));
}
