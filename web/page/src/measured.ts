// measured.ts: which errors of skins may stand in one column. An error is held out (examples that the fit did not see),
// of training (its own examples, which flatters), or of a clip, measured here. Only like is compared with like.

import type { Measure, Skin } from './show';

export type Kind = 'holdout' | 'train' | 'clip';

// Whether a skin was fitted to a clip; null: it does not know.
export function trainedOn(skin: Skin, clip: string): boolean | null {
  return skin.facts ? skin.facts.clips.includes(clip) : null;
}

export interface Told {
  measure: Measure | null | undefined; // null: on its way; undefined: there is none
  comparable: boolean;
}

// What a column of errors says of each skin. `measured` is what was measured on the clip.
export function errorsOf(skins: Skin[], kind: Kind, clip: string, measured: (skin: Skin) => Measure | null | undefined): Told[] {
  if (kind === 'clip') return skins.map((skin) => ({ measure: measured(skin), comparable: trainedOn(skin, clip) === false }));
  const told = skins.map((skin) => skin.facts?.[kind] ?? undefined);
  const groups = new Set(skins.flatMap(({ facts }, i) => (told[i] ? [JSON.stringify([facts!.bundle, facts!.clips, told[i]!.frames])] : [])));
  return told.map((measure) => ({ measure, comparable: measure !== undefined && groups.size === 1 }));
}

// The kind to begin with: the most telling one that any skin has.
export function firstKind(skins: Skin[]): Kind {
  if (skins.some(({ facts }) => facts?.holdout)) return 'holdout';
  return skins.some(({ facts }) => facts?.train) ? 'train' : 'clip';
}

// The smallest of the values that may be compared; NaN where there is no choice.
export function bestOf(values: (number | null)[]): number {
  const there = values.filter((value): value is number => value !== null && Number.isFinite(value));
  return there.length > 1 ? Math.min(...there) : NaN;
}
