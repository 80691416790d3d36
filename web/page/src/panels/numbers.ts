// numbers.ts: figures of the current frame, of one vertex, and of the skin.

import type { App, Panel } from '../app';
import type { Session } from '../session';
import { el, section, toggle } from '../dom';
import { quantile, ranked, short } from '../heat';
import { strongest } from '../probe';
import { list, skinCard, type Pair } from './about_skin';
import './numbers.css';

// Distances in the current picture, from the positions that are drawn.
function frameFigures(app: App): Pair[] {
  const { positions, truth } = app.stage;
  if (!positions || !truth || !(app.skin() || app.subject()?.kind === 'face')) return [];
  const distances = new Float32Array(truth.length / 3);
  let worst = 0, squares = 0;
  for (let v = 0, i = 0; v < distances.length; v++, i += 3) {
    const x = positions[i]! - truth[i]!, y = positions[i + 1]! - truth[i + 1]!, z = positions[i + 2]! - truth[i + 2]!;
    const square = x * x + y * y + z * z;
    squares += square;
    distances[v] = Math.sqrt(square);
    if (distances[v]! > distances[worst]!) worst = v;
  }
  const rms = Math.sqrt(squares / distances.length);
  const largest = distances[worst]!;
  return [
    ['rms', short(rms), 'Root mean square distance'],
    ['95 % of vertices below', short(ranked(distances, Math.floor(0.95 * (distances.length - 1))))],
    ['largest', short(largest)],
    ['worst vertex', el('button', { type: 'button', className: 'quiet-link', title: 'Mark it and zoom to it (E)', on: { click: () => (app as Session).lookAtVertex(worst) } }, String(worst))],
  ];
}

// One vertex, by its number or by a press in the picture.
function vertexSection(app: Session) {
  const told = el('div');
  const field = el('input', { type: 'number', min: '0', step: '1', className: 'vertex-field', placeholder: 'number', aria: { label: 'Vertex number' } });
  const look = el('button', { type: 'button', className: 'tiny', on: { click: () => { if (app.store.get().vertex >= 0) app.lookAtVertex(app.store.get().vertex); } } }, 'look at it');
  const clear = el('button', { type: 'button', className: 'tiny', title: 'Remove the mark (Escape)', on: { click: () => app.store.set({ vertex: -1 }) } }, 'clear');
  const probing = toggle('Probe', () => app.store.get().probe, (probe) => app.store.set({ probe }), 'Describe the vertex under the pointer (P)');
  field.addEventListener('change', () => {
    const count = app.stage.mesh?.vertices ?? 0;
    const vertex = field.value === '' ? -1 : Number(field.value);
    if (vertex >= count || !Number.isInteger(vertex) || vertex < -1) app.say(`Vertices are numbered 0 to ${count - 1}.`, 'problem');
    else app.store.set({ vertex });
    draw();
  });
  field.addEventListener('keydown', (event) => event.stopPropagation());
  function draw() {
    const { vertex } = app.store.get();
    const there = vertex >= 0;
    if (document.activeElement !== field || !there) field.value = there ? String(vertex) : '';
    field.max = String(Math.max(0, (app.stage.mesh?.vertices ?? 1) - 1));
    look.hidden = clear.hidden = !there;
    const error = there && app.stage.truth && app.stage.positions ? app.stage.errors?.[vertex] : undefined;
    const pairs: Pair[] = !there ? [] : [
      ...(error === undefined ? [] : [['from the truth', short(error)] as Pair]),
      ...strongest(app, vertex).map(({ name, driver, weight }): Pair => [name, `${(100 * weight).toFixed(1)} %`, driver ? `Weight of a joint that ${driver} drives` : 'Weight of this joint']),
    ];
    told.replaceChildren(there ? list(pairs) : el('p', { className: 'hint' }, `Point at the surface, click to mark a vertex, or type its number.${app.hasTruth() ? ' E marks the worst one.' : ''}`));
  }
  app.store.watch(['vertex'], draw);
  app.store.watch(['probe'], probing.update);
  return { element: section('Vertex', el('div', { className: 'vertex-row' }, field, look, clear, el('div', { className: 'gap' }), probing.row), told), draw };
}

export const numbers: Panel = {
  id: 'numbers',
  title: 'Numbers',
  key: 'n',
  suits: (subject) => subject?.kind !== 'light',
  mount(element, app) {
    let shown = true;
    let unfolded = false;
    const session = app as Session;
    const frame = el('div');
    const speed = el('div');
    const skin = el('div');
    const vertex = vertexSection(session);
    const times: number[] = [];
    const drawFrame = () => {
      if (!shown) return;
      const pairs = frameFigures(app);
      frame.replaceChildren(pairs.length ? list(pairs) : el('p', { className: 'hint' }, app.pose.pulled ? 'The pose was changed, so there is no truth for it.' : app.stage.truth ? 'No skin is open.' : 'There is no truth to compare with.'));
      vertex.draw();
    };
    const drawSpeed = () => {
      if (!shown) return;
      const [low, middle, high] = [0.25, 0.5, 0.75].map((share) => quantile(times, share) || 0) as [number, number, number];
      const open = app.skin();
      speed.replaceChildren(open ? list([
        ['deform', `${middle.toFixed(2)} ms`, 'Pose, positions and normals; median of the last 60'],
        ...(times.length < 5 ? [] : [['middle half', `${low.toFixed(2)} to ${high.toFixed(2)} ms`] as Pair]),
        ['per vertex', `${((1e6 * middle) / open.vertexCount).toFixed(1)} ns`],
        ['vertices', open.vertexCount.toLocaleString('en')],
      ]) : el('p', { className: 'hint' }, 'No skin is open.'));
    };
    const drawSkin = () => {
      const subject = app.subject();
      const now = subject?.kind === 'character' ? subject.character.skins[app.store.get().skin] : null;
      unfolded = skin.querySelector('details')?.open ?? unfolded;
      skin.replaceChildren(now && subject?.kind === 'character' ? skinCard(now, session.figures(now), subject.character.vertices, unfolded) : el('p', { className: 'hint' }, 'No skin is open.'));
    };
    // Ten times a second is enough for a reader, and must not slow down playback.
    let due = 0;
    app.on('deformed', ({ milliseconds }) => {
      times.push(milliseconds);
      if (times.length > 60) times.shift();
      due ||= window.setTimeout(() => { due = 0; drawSpeed(); drawFrame(); }, 100);
    });
    app.on('skin', () => { times.length = 0; drawSkin(); });
    session.on('figures', drawSkin);
    app.on('subject', () => { drawSkin(); drawFrame(); });
    drawFrame();
    drawSkin();
    drawSpeed();
    element.append(section('This frame', frame), vertex.element, section('This skin', skin), section('Speed in this browser', speed));
    return { shown: () => { shown = true; drawSpeed(); drawFrame(); drawSkin(); }, hidden: () => { shown = false; } };
  },
};
