// keyboard.ts: keyboard shortcuts, and the dialog that lists them.

import type { Session } from './session';
import type { Panel } from './app';
import { el } from './dom';
import { SHADINGS, possible } from './toolbar';
import { switchTheme } from './theme';
import { nextView, numpadView } from './views';

interface Key { keys: string[]; says: string; shown: string; does(event: KeyboardEvent): void }

const GENERAL = ['t', '?', 'l', 'm']; // what a lit scene, which is only a picture, has a use for

const next = <T>(list: T[], now: T) => list[(list.indexOf(now) + 1) % list.length]!;

export function keyboard(session: Session, panels: Panel[], goToWorst: () => void, openPanel: (id: string) => void, share: () => void) {
  const { store, stage } = session;
  const frames = () => session.clips()[store.get().clip]?.frames ?? 1;
  const go = (frame: number) => store.set({ frame: Math.min(frames() - 1, Math.max(0, frame)), playing: false });
  const clip = (step: number) => {
    const count = session.clips().length;
    if (count > 1) store.set({ clip: (store.get().clip + step + count) % count, frame: 0, playing: false });
  };
  const keys: Key[] = [
    { keys: [' '], shown: 'Space', says: 'play or pause', does: () => store.set({ playing: !store.get().playing }) },
    { keys: ['ArrowLeft', 'ArrowRight'], shown: '← →', says: 'previous or next frame; with Shift, ten at a time', does: (event) => go(store.get().frame + (event.key === 'ArrowLeft' ? -1 : 1) * (event.shiftKey ? 10 : 1)) },
    { keys: ['Home', 'End'], shown: 'Home End', says: 'first or last frame', does: (event) => go(event.key === 'Home' ? 0 : frames() - 1) },
    { keys: ['w'], shown: 'W', says: 'go to the worst frame of the skin and mark its worst vertex', does: goToWorst },
    { keys: ['[', ']'], shown: '[ ]', says: 'previous or next clip', does: (event) => clip(event.key === '[' ? -1 : 1) },
    { keys: [...'123456789'], shown: '1 … 9', says: 'a skin', does: (event) => { const i = Number(event.key) - 1; if (i < session.choices()) store.set({ skin: i }); } },
    { keys: ['v'], shown: 'V', says: 'side by side, overlay, wipe, model alone, two skins', does: () => store.set({ layout: next(possible(session), store.get().layout) }) },
    { keys: ['c'], shown: 'C', says: 'clay, textures, normals', does: () => {
      const there = SHADINGS.map(({ value }) => value).filter((value) => value !== 'textures' || session.character()?.surface);
      store.set({ shading: next(there, store.get().shading) });
    } },
    { keys: ['x'], shown: 'X', says: 'wireframe', does: () => store.set({ wireframe: !store.get().wireframe }) },
    { keys: ['h'], shown: 'H', says: 'heat map on the model', does: () => { if (session.hasTruth()) store.set({ difference: !store.get().difference }); } },
    { keys: ['f'], shown: 'F', says: 'the whole character', does: () => { stage.reframe(); } },
    { keys: ['e'], shown: 'E', says: 'mark the worst vertex of the frame', does: () => void session.lookAtWorst() },
    { keys: ['p'], shown: 'P', says: 'probe: describe the vertex under the pointer', does: () => store.set({ probe: !store.get().probe }) },
    { keys: ['+', '=', '-'], shown: '+ −', says: 'zoom in or out', does: (event) => stage.zoom(event.key === '-' ? 1.15 : 1 / 1.15) },
    { keys: ['ArrowUp', 'ArrowDown', 'ArrowLeft', 'ArrowRight'], shown: 'Alt ← → ↑ ↓', says: 'orbit the camera', does: () => {} },
    { keys: ['a'], shown: 'A', says: 'view from the front, the side, above; also 1 3 7 on the numeric keypad', does: () => nextView(session) },
    { keys: ['o'], shown: 'O', says: 'perspective on or off', does: () => store.set({ flat: !store.get().flat }) },
    { keys: ['g'], shown: 'G', says: 'the ground', does: () => store.set({ ground: !store.get().ground }) },
    { keys: ['s'], shown: 'S', says: 'picture, movie, link', does: share },
    { keys: [], shown: 'Ctrl Z', says: 'undo; with Shift, redo', does: () => {} },
    { keys: ['t'], shown: 'T', says: 'dark or light', does: switchTheme },
    { keys: ['?'], shown: '?', says: 'this list', does: () => toggleHelp() },
  ];
  for (const panel of panels) if (panel.key) keys.push({ keys: [panel.key], shown: panel.key.toUpperCase(), says: `panel: ${panel.title}`, does: () => openPanel(panel.id) });

  const list = el('dl', {}, ...keys.flatMap(({ shown, says }) => [el('dt', {}, ...shown.split(' ').map((key) => (key === '…' ? key : el('kbd', {}, key)))), el('dd', {}, says)]));
  const close = el('button', { type: 'button', className: 'tiny', on: { click: () => dialog.close() } }, 'close');
  const dialog = el('dialog', { className: 'help', aria: { label: 'Keys' } },
    el('div', { className: 'help-head' }, el('h2', {}, 'Keys'), close), list,
    el('p', {}, 'Drag to orbit, drag with the right button to pan, scroll or pinch to zoom. All panes share one camera.'));
  dialog.addEventListener('click', (event) => { if (event.target === dialog) dialog.close(); });
  document.body.append(dialog);

  function toggleHelp() {
    if (dialog.open) dialog.close();
    else dialog.showModal();
  }

  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.defaultPrevented) return;
    const target = event.target as HTMLElement;
    const typing = target.matches('textarea, select, [contenteditable], input:not([type=range], [type=checkbox])');
    if (typing || (dialog.open && event.key !== '?')) return;
    const arrow = event.key.startsWith('Arrow');
    if (arrow && event.altKey) {
      const [across, upward] = { ArrowLeft: [-0.12, 0], ArrowRight: [0.12, 0], ArrowUp: [0, 0.12], ArrowDown: [0, -0.12] }[event.key]!;
      stage.turn(across!, upward!);
      event.preventDefault();
      return;
    }
    if (event.altKey || ((arrow || event.key === ' ') && target.matches('input, button, [role=option], [role=tab]') && !(arrow && target.matches('button:not([role])')))) return;
    if (numpadView(session, event.code)) return event.preventDefault();
    const key = keys.find((candidate) => candidate.keys.includes(event.key.length === 1 ? event.key.toLowerCase() : event.key));
    if (!key || (session.subject()?.kind === 'light' && !GENERAL.includes(event.key))) return;
    event.preventDefault();
    key.does(event);
  });
  return { toggleHelp };
}
