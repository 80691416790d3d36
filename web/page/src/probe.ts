// probe.ts: what is under the pointer: the vertex, its error, and the joints that move it. A press marks it.

import type { Pane } from './app';
import type { Session } from './session';
import { Vector3 } from 'three';
import { el } from './dom';
import { short } from './heat';
import { joinedTo, pointAlong, vertexAlong } from './vertices';

const MOST_JOINTS = 4;
const LEAST = 0.005; // weights below round to nothing
const RESTING = 60; // milliseconds between looks: a large mesh takes some of them

// The strongest joints of a vertex, by name; driven joints by their own.
export function strongest(session: Pick<Session, 'skin'>, vertex: number): { name: string; driver: string | null; weight: number }[] {
  const skin = session.skin();
  if (!skin || vertex < 0 || vertex >= skin.vertexCount) return [];
  return skin.weightsAt(vertex).filter(({ weight }) => Math.abs(weight) >= LEAST).slice(0, MOST_JOINTS).map(({ joint, weight }) => {
    const driven = joint >= skin.jointCount;
    const name = skin.joints[joinedTo(skin, joint)]?.name ?? '';
    return { name: driven ? skin.driven[joint - skin.jointCount]!.name : name, driver: driven ? name : null, weight };
  });
}

export function probe(session: Session) {
  const { store, stage } = session;
  const tip = el('div', { className: 'probe-tip', hidden: true });
  stage.element.append(tip);
  const ray = { origin: new Vector3(), direction: new Vector3() };
  let waiting = 0;
  let pressed: { x: number; y: number } | null = null;

  const paneAt = (target: EventTarget | null) => (target instanceof Element ? target.closest<HTMLElement>('.pane') : null);

  function vertexAt(pane: HTMLElement, x: number, y: number): number {
    const positions = stage.positionsIn(pane.dataset.pane as Pane);
    if (!positions || !stage.mesh) return -1;
    const box = pane.getBoundingClientRect();
    stage.camera.updateMatrixWorld();
    ray.origin.copy(stage.camera.position);
    ray.direction.set(2 * ((x - box.left) / box.width) - 1, 1 - 2 * ((y - box.top) / box.height), 0.5).unproject(stage.camera).sub(ray.origin);
    const [from, along] = [ray.origin.toArray(), ray.direction.toArray()];
    return stage.mesh.triangles ? vertexAlong(from, along, positions, stage.mesh.indices) : pointAlong(from, along, positions, 0.01);
  }

  function show(pane: HTMLElement, x: number, y: number) {
    const vertex = vertexAt(pane, x, y);
    tip.hidden = vertex < 0;
    if (vertex < 0) return;
    const error = stage.truth && stage.positions ? stage.errorsIn(pane.dataset.pane as Pane)?.[vertex] : undefined;
    tip.dataset.vertex = String(vertex);
    tip.replaceChildren(
      el('div', { className: 'tip-head' }, `vertex ${vertex}`),
      ...(error === undefined ? [] : [el('div', {}, el('span', {}, 'from the truth'), el('b', { className: 'number' }, short(error)))]),
      ...strongest(session, vertex).map(({ name, weight }) => el('div', {}, el('span', {}, name), el('b', { className: 'number' }, `${(100 * weight).toFixed(0)} %`))));
    const box = stage.element.getBoundingClientRect();
    const [left, top] = [x - box.left, y - box.top];
    tip.style.left = `${left + 18 + tip.offsetWidth > box.width ? Math.max(4, left - 18 - tip.offsetWidth) : left + 18}px`;
    tip.style.top = `${Math.max(4, Math.min(top + 14, box.height - tip.offsetHeight - 4))}px`;
  }

  function hide() {
    clearTimeout(waiting);
    waiting = 0;
    tip.hidden = true;
  }

  // Joints are picked by presses in their panels, not vertices.
  const marks = () => store.get().probe && store.get().panel !== 'pull' && store.get().panel !== 'inside';

  stage.element.addEventListener('pointermove', (event) => {
    const pane = paneAt(event.target);
    if (!pane || event.buttons || event.pointerType === 'touch' || !store.get().probe || store.get().playing) return hide();
    clearTimeout(waiting);
    waiting = window.setTimeout(() => show(pane, event.clientX, event.clientY), RESTING);
  });
  stage.element.addEventListener('pointerleave', hide);
  stage.element.addEventListener('pointerdown', (event) => {
    hide();
    pressed = paneAt(event.target) && event.button === 0 ? { x: event.clientX, y: event.clientY } : null;
  });
  addEventListener('pointerup', (event) => { // the camera's controls have captured the pointer by now
    const still = pressed && Math.hypot(event.clientX - pressed.x, event.clientY - pressed.y) < 5;
    pressed = null;
    const pane = still && marks() ? paneAt(document.elementFromPoint(event.clientX, event.clientY)) : null;
    const vertex = pane ? vertexAt(pane, event.clientX, event.clientY) : -1;
    if (vertex >= 0) store.set({ vertex });
  });
  store.watch(['probe', 'frame', 'playing', 'skin'], hide);
}
