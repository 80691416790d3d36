// face_trust.ts: how far regions and key points are trusted, in colours: a misfit from 0, over 1 (trusted up to here), to 1.5
// (not at all).

import * as THREE from 'three';

const STOPS: [number, string][] = [[0, '--trust-full'], [1, '--hit'], [1.25, '--blend'], [1.5, '--miss']];
const GRAIN = 256; // colours of the scale

export const LIMIT = 1; // as in pelt_soft_cache_trust
const END = 1.5;

export interface Scale { srgb: Float32Array; linear: Float32Array } // [GRAIN + 1][3]

/** The colours of the scale for the theme of an element. */
export function trustScale(element: Element): Scale {
  const style = getComputedStyle(element);
  const stops = STOPS.map(([at, name]) => [at, new THREE.Color().setStyle(style.getPropertyValue(name).trim(), THREE.LinearSRGBColorSpace)] as const);
  const srgb = new Float32Array(3 * (GRAIN + 1));
  const linear = new Float32Array(3 * (GRAIN + 1));
  for (let i = 0; i <= GRAIN; i++) {
    const at = (END * i) / GRAIN;
    const high = Math.max(1, stops.findIndex(([stop]) => stop >= at - 1e-9));
    const [[a, low], [b, top]] = [stops[high - 1]!, stops[high]!];
    const colour = low.clone().lerp(top, (at - a) / (b - a));
    colour.toArray(srgb, 3 * i);
    colour.convertSRGBToLinear().toArray(linear, 3 * i);
  }
  return { srgb, linear };
}

export const shareOf = (e: number) => Math.round(GRAIN * Math.min(Math.max(Number.isFinite(e) ? e / END : 1, 0), 1));

/** The misfit of every point: the mean over its regions, weighted. */
export function pointMisfits(regions: Uint32Array, weights: Float32Array, e: ArrayLike<number>): Float32Array {
  const out = new Float32Array(regions.length / 4);
  for (let p = 0; p < out.length; p++) for (let k = 4 * p; k < 4 * p + 4; k++) out[p]! += weights[k]! && weights[k]! * Math.min(e[regions[k]!]!, END);
  return out;
}

/** Colours [value][3] of misfits. */
export function colours(misfits: ArrayLike<number>, table: Float32Array): Float32Array {
  const out = new Float32Array(3 * misfits.length);
  for (let i = 0; i < misfits.length; i++) {
    const at = 3 * shareOf(misfits[i]!);
    for (let c = 0; c < 3; c++) out[3 * i + c] = table[at + c]!;
  }
  return out;
}

export const doubted = (misfits: ArrayLike<number>) => Array.from(misfits).filter((e) => !(e <= LIMIT)).length;

/** The top of a curve of misfits: twice the limit, or more where more happens, but not so much that the limit disappears. */
export const topOf = (e: number[]) => Math.min(6, Math.max(2, Math.ceil(Math.max(0, ...e.filter(Number.isFinite)))));
