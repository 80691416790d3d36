// undo.ts: the buttons and keys of the history, and poses as changes that it keeps.

import type { App, Subject } from './app';
import type { Session } from './session';
import type { Pulled } from './pose';
import { el } from './dom';
import { icon } from './icons';

interface Held { kind: Subject['kind'] | ''; index: number; clip: number; frame: number; pulled: Pulled }

function held(session: Session): Held {
  const { clip, frame } = session.store.get();
  const subject = session.subject();
  return { kind: subject?.kind ?? '', index: subject?.index ?? -1, clip, frame, pulled: session.pose.kept() };
}

const same = (a: Held, b: Held) => a.clip === b.clip && a.frame === b.frame && a.pulled.joints.size === b.pulled.joints.size
  && a.pulled.controls.size === b.pulled.controls.size
  && [...a.pulled.joints].every(([joint, transform]) => b.pulled.joints.get(joint)?.every((x, i) => x === transform[i]) ?? false)
  && [...a.pulled.controls].every(([control, value]) => b.pulled.controls.get(control) === value);

// Back to a pose, and to its frame if the change had left it; another character is opened first.
async function restore(session: Session, to: Held, from: Held) {
  const now = session.subject();
  if (now?.kind !== to.kind || now.index !== to.index) {
    const at = session.subjects().findIndex(({ kind, index }) => kind === to.kind && index === to.index);
    if (at < 0) return;
    await session.openWhole(at);
  }
  if (to.clip !== from.clip || to.frame !== from.frame) session.store.set({ playing: false, clip: to.clip, frame: to.frame });
  session.pose.restore(to.pulled);
}

// Changes the pose, or the frame that it is seen at, so that it can be undone.
export function actOn(session: Session): App['act'] {
  return (says, call, gesture, pause) => {
    const before = held(session);
    call();
    const after = held(session);
    if (same(before, after)) return;
    session.history.add({ says, undo: () => restore(session, before, after), redo: () => restore(session, after, before) }, gesture, pause);
  };
}

export function undoButtons(session: Session) {
  const { history } = session;
  const move = (way: 'undo' | 'redo') => void history[way]().catch((thrown) => session.problem(thrown));
  const button = (way: 'undo' | 'redo', name: string) =>
    el('button', { type: 'button', className: 'plain', aria: { label: name }, on: { click: () => move(way) } }, icon(way));
  const [undo, redo] = [button('undo', 'Undo'), button('redo', 'Redo')];
  const keys = /Mac|iPhone|iPad/.test(navigator.platform) ? ['⌘Z', '⇧⌘Z'] : ['Ctrl+Z', 'Ctrl+Shift+Z'];
  const update = () => {
    undo.disabled = history.last === null;
    redo.disabled = history.next === null;
    undo.title = history.last === null ? `Nothing to undo (${keys[0]})` : `Undo: ${history.last} (${keys[0]})`;
    redo.title = history.next === null ? `Nothing to redo (${keys[1]})` : `Redo: ${history.next} (${keys[1]})`;
  };
  history.onChange(update);
  update();
  document.addEventListener('keydown', (event) => {
    if (!(event.ctrlKey || event.metaKey) || event.altKey || document.querySelector('dialog[open]')) return;
    const key = event.key.toLowerCase();
    const way = key === 'z' ? (event.shiftKey ? 'redo' : 'undo') : key === 'y' && !event.shiftKey ? 'redo' : null;
    const typing = (event.target as HTMLElement).matches('textarea, [contenteditable], input[type=text], input[type=search]'); // they undo by themselves
    if (!way || typing) return;
    event.preventDefault();
    event.stopPropagation();
    move(way);
  }, true); // before fields that keep their keys to themselves
  return [undo, redo];
}
