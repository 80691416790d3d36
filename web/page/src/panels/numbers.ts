// numbers.ts: figures of the current frame and skin.

import type { App, Panel } from '../app';
import { el, section } from '../dom';
import { bytesText, quantile, short } from '../heat';
import type { Facts, Measure } from '../show';
import './numbers.css';

type Pair = [string, string, string?];

const list = (pairs: Pair[]) => el('dl', { className: 'pairs' }, ...pairs.flatMap(([name, value, title]) =>
  [el('dt', { title: title ?? '' }, name), el('dd', { className: 'number' }, value)]));

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
  distances.sort();
  return [
    ['rms', short(rms), 'Root mean square distance'],
    ['95 % of vertices below', short(distances[Math.floor(0.95 * (distances.length - 1))]!)],
    ['largest', short(largest)],
    ['worst vertex', String(worst)],
  ];
}

const measurePairs = (on: string, measure: Measure | null): Pair[] => !measure ? [] : [
  [`${on}: rms`, short(measure.rms)],
  [`${on}: largest`, short(measure.max)],
  [`${on}: rel err`, measure.rel_err === null ? 'unknown' : short(measure.rel_err), "Relative to a linear blend with the file's own weights"],
  [`${on}: frames`, String(measure.frames)],
];

function factPairs(facts: Facts | null): Pair[] {
  if (!facts) return [['its fit', 'unknown', 'Made by an older pelt: fit again to see what it was trained on']];
  return [
    ['made by', facts.made_by], ['bundle', facts.bundle], ['method', facts.method], ['blend', facts.blend],
    ['corrective', facts.corrective], ['trained on', facts.clips.join(', ') || 'no examples'], ['examples', String(facts.examples)],
    ...measurePairs('training', facts.train), ...measurePairs('held out', facts.holdout),
  ];
}

export const numbers: Panel = {
  id: 'numbers',
  title: 'Numbers',
  suits: (subject) => subject?.kind !== 'light',
  mount(element, app) {
    let shown = true;
    const frame = el('div');
    const speed = el('div');
    const skin = el('div');
    const times: number[] = [];
    const drawFrame = () => {
      if (!shown) return;
      const pairs = frameFigures(app);
      frame.replaceChildren(pairs.length ? list(pairs) : el('p', { className: 'hint' }, app.pose.pulled ? 'The pose was changed: there is no truth for it.' : app.stage.truth ? 'No skin is open.' : 'There is no truth to compare with.'));
    };
    const drawSpeed = (milliseconds: number) => {
      times.push(milliseconds);
      if (times.length > 60) times.shift();
      if (!shown) return;
      const middle = quantile(times, 0.5);
      const open = app.skin();
      speed.replaceChildren(open ? list([
        ['deform', `${middle.toFixed(2)} ms`, 'Pose, positions and normals; median of the last 60'],
        ['a vertex', `${((1e6 * middle) / open.vertexCount).toFixed(1)} ns`],
        ['vertices', open.vertexCount.toLocaleString('en')],
      ]) : el('p', { className: 'hint' }, 'No skin is open.'));
    };
    const drawSkin = () => {
      times.length = 0;
      const subject = app.subject();
      const now = subject?.kind === 'character' ? subject.character.skins[app.store.get().skin] : null;
      skin.replaceChildren(now ? list([['file', bytesText(now.bytes)], ...factPairs(now.facts)]) : el('p', { className: 'hint' }, 'No skin is open.'));
    };
    // Ten times a second is enough for a reader, and must not slow down playback.
    let due = 0;
    app.on('deformed', ({ milliseconds }) => {
      drawSpeed(milliseconds);
      due ||= window.setTimeout(() => { due = 0; drawFrame(); }, 100);
    });
    app.on('skin', drawSkin);
    app.on('subject', () => { drawSkin(); drawFrame(); });
    drawFrame();
    drawSkin();
    drawSpeed(0);
    times.length = 0;
    element.append(section('This frame', frame), section('Speed in this browser', speed), section('About this skin', skin));
    return { shown: () => { shown = true; drawFrame(); drawSkin(); }, hidden: () => { shown = false; } };
  },
};
