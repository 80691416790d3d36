// about_skin.ts: what a skin says of itself, as a card to read; the rest is folded away.

import { el } from '../dom';
import { bytesText, short } from '../heat';
import type { Choice, Facts, Figures, Measure, Skin } from '../show';

export type Pair = [string, string | Node, string?];

export const list = (pairs: Pair[]) => el('dl', { className: 'pairs' }, ...pairs.flatMap(([name, value, title]) =>
  [el('dt', { title: title ?? '' }, name), el('dd', { className: 'number' }, value)]));

const METHODS: Record<string, string> = {
  ssd: 'Linear blend of the joints',
  joints: 'Linear blend with driven joints that bulge and twist with the pose',
  psd: 'Pose space deformation: examples interpolated by their poses',
  wpsd: 'Weighted pose space deformation: each vertex interpolates by the joints near it',
  eigen: 'EigenSkin: a few displacements for each joint',
  kernel: 'Kernel regression: displacements learned from the poses of the joints',
};
const BLENDS: Record<string, string> = {
  file: "weights of the file", distance: 'weights by distance', fit: 'fitted weights', joints: 'fitted weights, with driven joints',
};

const percent = (share: number) => `${Number((100 * share).toPrecision(3))} %`;

// An error in words: relative to the plain blend, where that is known, and as a length.
export function errorText(measure: Measure): string {
  const length = `${short(measure.rms)} rms`;
  return measure.rel_err === null ? length : `${percent(measure.rel_err)} of the plain blend's (${length})`;
}

const frames = (count: number) => `${count} example${count === 1 ? '' : 's'}`;

export function methodText(facts: Facts): string {
  return `${METHODS[facts.method] ?? facts.method}, ${BLENDS[facts.blend] ?? facts.blend}`;
}

export function trainedText(facts: Facts): string {
  if (!facts.examples) return 'No examples: nothing was learned';
  return `${frames(facts.examples)} of ${facts.clips.join(', ') || 'the caller'}`;
}

export function timeText(figures: Figures | null | undefined, vertices: number): string {
  if (!figures) return figures === null ? 'unknown' : 'measuring …';
  const frame = (figures.nanoseconds * vertices) / 1e3;
  const [unit, each] = frame < 1000 ? ['µs', 1e3] : ['ms', 1e6];
  const [low, middle, high] = [figures.nanoseconds_low, figures.nanoseconds, figures.nanoseconds_high].map((time) => Number(((time * vertices) / each).toPrecision(2)));
  return `${middle} ${unit} per frame${low === high ? '' : `; half of ${figures.timed_frames} took ${low} to ${high}`}`;
}

const measurePairs = (on: string, measure: Measure | null): Pair[] => !measure ? [] : [
  [`${on}: rms`, short(measure.rms)],
  [`${on}: largest`, short(measure.max)],
  ...(measure.rel_err === null ? [] : [[`${on}: error`, short(measure.rel_err), "Relative to linear blending with the file's own weights"] as Pair]),
  ...(measure.roughness === null ? [] : [[`${on}: roughness`, short(measure.roughness), 'How much rougher the surface is than the true one'] as Pair]),
  ...(measure.normals === null ? [] : [[`${on}: normals`, `${short(measure.normals)}°`] as Pair]),
  [`${on}: frames`, String(measure.frames)],
];

// What it was chosen from: error and size of each; bold: taken; grey: another is smaller and more accurate.
function choiceTable(choice: Choice): HTMLElement {
  const cell = (text: string) => el('td', { className: 'number' }, text);
  const rows = choice.candidates.map((one) => el('tr', { className: one.taken ? 'taken' : one.front ? '' : 'quiet' },
    el('td', {}, one.options.replace('--method ', '').replaceAll(' --', ', ')), cell(one.rel_err === null ? short(one.rms) : percent(one.rel_err)), cell(bytesText(one.bytes))));
  return el('details', { className: 'more-options choice' }, el('summary', {}, 'candidates'), el('p', { className: 'quiet' }, `Chosen: ${choice.why}.`),
    el('table', { aria: { label: 'methods tried' } }, el('tr', {}, el('th', {}, 'method'), el('th', {}, 'error'), el('th', {}, 'size')), ...rows));
}

// The card; `open`: the rest is unfolded.
export function skinCard(skin: Skin, figures: Figures | null | undefined, vertices: number, open: boolean): HTMLElement {
  const { facts } = skin;
  const pairs: Pair[] = facts ? [
    ['Trained on', trainedText(facts)],
    ['Held out', facts.holdout ? errorText(facts.holdout) : facts.examples ? 'Nothing was held out' : 'Nothing to hold out'],
  ] : [['Its fit', 'Unknown: made by an older version of pelt. Fit again to see what it was trained on']];
  pairs.push(['Size', bytesText(skin.bytes)], ['Time', timeText(figures, vertices), 'On one core of the machine that runs the server']);
  const card = el('div', { className: 'card' }, facts && el('p', { className: 'card-method' }, methodText(facts)), list(pairs));
  if (facts) {
    const more = el('details', { className: 'more-options', open }, el('summary', {}, 'more'), list([
      ['method', facts.method], ['blend', facts.blend], ['corrective', facts.corrective], ['made by', facts.made_by], ['bundle', facts.bundle],
      ...measurePairs('training', facts.train), ...measurePairs('held out', facts.holdout),
    ]));
    card.append(more);
  }
  if (skin.choice) card.append(choiceTable(skin.choice));
  return card;
}
