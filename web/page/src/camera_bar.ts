// camera_bar.ts: buttons of the camera: the ground, no perspective, the whole character.

import type { Session } from './session';
import type { State } from './store';
import { el } from './dom';
import { icon, type Icon } from './icons';

const KEPT = 'pelt-ground';

export function cameraBar(session: Session) {
  const { store } = session;
  if (localStorage.getItem(KEPT) === 'off') store.set({ ground: false });
  store.watch(['ground'], ({ ground }) => {
    if (ground) localStorage.removeItem(KEPT);
    else localStorage.setItem(KEPT, 'off');
  });
  const button = (name: Icon & keyof State, label: string, title: string) => {
    const made = el('button', { type: 'button', className: 'plain', title, aria: { label }, on: { click: () => store.set({ [name]: !store.get()[name] }) } }, icon(name));
    const update = () => made.setAttribute('aria-pressed', String(store.get()[name]));
    store.watch([name], update);
    update();
    return made;
  };
  return [
    button('ground', 'Ground', 'A grid on the ground (G)'),
    button('flat', 'Orthographic', 'Switch perspective off (O)'),
    el('button', { type: 'button', className: 'plain', title: 'Show the whole character (F)', aria: { label: 'Show the whole character' }, on: { click: () => session.stage.reframe() } }, icon('frame')),
  ];
}
