// marks.ts: the marked vertex in every pane, with its number and its error.

import type { Pane } from './app';
import type { Session } from './session';
import { Vector3 } from 'three';
import { el } from './dom';
import { short } from './heat';

const PANES: Pane[] = ['truth', 'model', 'other', 'difference'];

interface Mark { element: HTMLElement; text: HTMLElement }

export function vertexMarks(session: Session) {
  const { store, stage } = session;
  const marks = new Map<Pane, Mark>();
  const at = new Vector3();
  const toEye = new Vector3();

  function create(): Mark {
    const text = el('span', { className: 'vertex-text number' });
    return { element: el('div', { className: 'vertex-mark' }, el('i'), text), text };
  }

  function place(pane: Pane, holder: HTMLElement, vertex: number) {
    const positions = stage.positionsIn(pane), normals = stage.normalsIn(pane);
    if (!positions || !normals || vertex >= positions.length / 3) return;
    const mark = marks.get(pane) ?? create();
    marks.set(pane, mark);
    if (mark.element.parentElement !== holder) holder.append(mark.element);
    at.fromArray(positions, 3 * vertex);
    toEye.copy(stage.camera.position).sub(at);
    mark.element.classList.toggle('behind', toEye.dot(new Vector3().fromArray(normals, 3 * vertex)) < 0);
    at.project(stage.camera);
    const { clientWidth: width, clientHeight: height } = holder;
    const [x, y] = [(width * (at.x + 1)) / 2, (height * (1 - at.y)) / 2];
    mark.element.style.transform = `translate(${x.toFixed(1)}px, ${y.toFixed(1)}px)`;
    mark.element.classList.toggle('leftwards', x > width - 170);
    mark.element.classList.toggle('high', y < 14);
    mark.element.hidden = at.z > 1 || x < 0 || y < 0 || x > width || y > height;
    const error = pane !== 'truth' && stage.truth ? stage.errorsIn(pane)?.[vertex] : undefined;
    mark.text.textContent = `vertex ${vertex}${error === undefined ? '' : ` · ${short(error)} off`}`;
  }

  function update() {
    const { vertex } = store.get();
    for (const pane of PANES) {
      const holder = vertex >= 0 ? stage.pane(pane) : null;
      if (holder) place(pane, holder, vertex);
      else marks.get(pane)?.element.remove();
    }
  }

  stage.element.addEventListener('drawn', update);
  store.watch(['vertex'], () => stage.redraw());
  document.addEventListener('keydown', (event) => {
    if (event.key === 'Escape' && !event.defaultPrevented && store.get().vertex >= 0 && !document.querySelector('dialog[open]')) store.set({ vertex: -1 });
  });
}
