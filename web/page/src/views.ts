// views.ts: the camera seen from outside: axis views, with or without perspective, and the corner widget that shows the
// axes and takes presses.

import { Matrix4, Vector3 } from 'three';
import type { Session } from './session';
import { el } from './dom';

export interface View { id: string; axis: string; from: [number, number, number]; says: string }

// glTF: y is up, and characters look along z.
export const VIEWS: View[] = [
  { id: 'front', axis: 'Z', from: [0, 0, 1], says: 'From the front' },
  { id: 'side', axis: 'X', from: [1, 0, 0], says: 'From the side' },
  { id: 'top', axis: 'Y', from: [0, 1, 0], says: 'From above' },
  { id: 'back', axis: '−Z', from: [0, 0, -1], says: 'From the back' },
  { id: 'other', axis: '−X', from: [-1, 0, 0], says: 'From the other side' },
  { id: 'bottom', axis: '−Y', from: [0, -1, 0], says: 'From below' },
];

const NUMPAD: Record<string, string> = { Numpad1: 'front', Numpad3: 'side', Numpad7: 'top' };

// The view that the camera is in, -1: none.
export function viewNow(session: Session): number {
  const { camera, target } = session.stage;
  const along = camera.position.clone().sub(target).normalize();
  return VIEWS.findIndex(({ from }) => along.dot(new Vector3(...from)) > 1 - 1e-4);
}

export function nextView(session: Session) { session.stage.viewFrom(VIEWS[(viewNow(session) + 1) % VIEWS.length]!.from); }

export function numpadView(session: Session, code: string): boolean {
  const view = VIEWS.find(({ id }) => id === NUMPAD[code]);
  if (view) session.stage.viewFrom(view.from);
  return view !== undefined;
}

const SIZE = 36; // pixels from the middle to an axis's end
const SPACE = 'http://www.w3.org/2000/svg';

export function viewWidget(session: Session) {
  const { stage } = session;
  const picture = document.createElementNS(SPACE, 'svg');
  picture.setAttribute('viewBox', '-44 -44 88 88');
  picture.setAttribute('aria-hidden', 'true');
  const spokes = VIEWS.slice(0, 3).map(({ axis }) => {
    const line = document.createElementNS(SPACE, 'line');
    line.setAttribute('class', `spoke axis-${axis.toLowerCase()}`);
    picture.append(line);
    return line;
  });
  const buttons = VIEWS.map(({ axis, says, from }, i) => el('button', {
    type: 'button', className: `axis axis-${axis.slice(-1).toLowerCase()}${axis.length > 1 ? ' far' : ''}`, title: `${says} (A: the next)`, tabIndex: i ? -1 : 0,
    aria: { label: says }, on: { click: () => stage.viewFrom(from) },
  }, axis.length > 1 ? '' : axis));
  const holder = el('div', { className: 'axes', role: 'toolbar', hidden: true, aria: { label: 'Views along the axes' } });
  holder.append(picture, ...buttons);
  holder.addEventListener('keydown', (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    const at = buttons.indexOf(event.target as HTMLButtonElement);
    if (!step || at < 0 || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    const next = buttons[(at + step + buttons.length) % buttons.length]!;
    buttons.forEach((button) => { button.tabIndex = button === next ? 0 : -1; });
    next.focus();
  });
  const turn = new Matrix4();
  const at = new Vector3();
  const update = () => {
    holder.hidden = !stage.mesh || !stage.renderer || session.subject()?.kind === 'light';
    turn.extractRotation(stage.camera.matrixWorldInverse);
    const now = viewNow(session);
    VIEWS.forEach(({ from }, i) => {
      at.set(...from).applyMatrix4(turn);
      const button = buttons[i]!;
      button.style.transform = `translate(${(SIZE * at.x).toFixed(1)}px, ${(-SIZE * at.y).toFixed(1)}px)`;
      button.style.zIndex = String(Math.round(10 + 9 * at.z));
      button.setAttribute('aria-pressed', String(i === now));
      const spoke = spokes[i];
      spoke?.setAttribute('x2', (SIZE * at.x).toFixed(1));
      spoke?.setAttribute('y2', (-SIZE * at.y).toFixed(1));
    });
  };
  stage.element.addEventListener('drawn', update);
  session.on('subject', update);
  return holder;
}
