// reach.ts: takes the end of a limb somewhere by turning the joints above it. Two bones have an exact answer; longer limbs
// turn joint by joint until they are there (cyclic coordinate descent). A limb that is too short is stretched towards the
// place, and how far it stays away is part of the answer.

import type { Joint } from '../show';
import { chain, globalRotations, placeOf, STRIDE } from './pose';
import { conjugate, fromVector, multiply, unit, type Quaternion, type Triple } from './rotation';

const minus = (a: Triple, b: Triple): Triple => [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
const dot = (a: Triple, b: Triple) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
const cross = (a: Triple, b: Triple): Triple => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
const times = (a: Triple, s: number): Triple => [a[0] * s, a[1] * s, a[2] * s];
const size = (a: Triple) => Math.hypot(...a);
const across = (a: Triple): Triple => cross(a, Math.abs(a[0]) < 0.6 * size(a) ? [1, 0, 0] : [0, 1, 0]);

/** The joints that can take `end` somewhere, from the top down: its ancestors, without those at the place of the joint
    below, whose turning moves nothing. At most `most`. */
export function limbOf(joints: Joint[], globals: ArrayLike<number>, end: number, most: number): number[] {
  const limb: number[] = [];
  let below = placeOf(globals, end);
  const whole = Math.max(1e-12, ...joints.map((_, j) => size(minus(placeOf(globals, j), below))));
  for (let j = joints[end]?.parent ?? -1; j >= 0 && limb.length < most; j = joints[j].parent) {
    const place = placeOf(globals, j);
    if (size(minus(place, below)) < 1e-5 * whole) continue;
    limb.unshift(j);
    below = place;
  }
  return limb;
}

/** The shortest rotation that takes the direction a to b, by at most `most` radians. */
function towards(a: Triple, b: Triple, most = Math.PI): Quaternion {
  const axis = cross(a, b);
  const angle = Math.atan2(size(axis), dot(a, b));
  const about = size(axis) > 1e-12 * size(a) * size(b) ? axis : across(a);
  return fromVector(times(about, Math.min(angle, most) / (size(about) || 1)));
}

/** Turns a joint, and all below it, by a rotation of model space about its own place. */
function turn(joints: Joint[], locals: Float32Array, joint: number, by: Quaternion): void {
  const { parent } = joints[joint];
  const frame: Quaternion = parent < 0 ? [0, 0, 0, 1] : globalRotations(joints, locals)[parent];
  const own = locals.subarray(STRIDE * joint, STRIDE * joint + 4);
  locals.set(unit(multiply(multiply(conjugate(frame), multiply(by, frame)), own)), STRIDE * joint);
}

export interface Reached { locals: Float32Array; missing: number } // missing: from the end to the place

export function reach(joints: Joint[], given: Float32Array, limb: number[], end: number, place: Triple): Reached {
  const locals = Float32Array.from(given);
  const where = () => {
    const globals = chain(joints, locals);
    return { at: (j: number) => placeOf(globals, j), end: placeOf(globals, end) };
  };
  const missing = () => size(minus(where().end, place));
  const aim = (joint: number, part: number, to: Triple, most?: number) => { // turns a joint so that a part below it points to a place
    const now = where();
    turn(joints, locals, joint, towards(minus(now.at(part), now.at(joint)), minus(to, now.at(joint)), most));
  };
  if (!limb.length) return { locals, missing: missing() };
  const parts = [...limb.slice(1), end]; // what each joint carries first
  const first = where();
  const lengths = limb.map((joint, i) => size(minus(first.at(parts[i]), first.at(joint))));
  const total = lengths.reduce((sum, x) => sum + x, 0);
  const away = size(minus(place, first.at(limb[0])));
  if (away >= total) { // too far: straight towards it
    limb.forEach((joint, i) => aim(joint, parts[i], place));
    return { locals, missing: missing() };
  }
  if (limb.length === 2) {
    bend(joints, locals, limb as [number, number], end, lengths as [number, number], Math.max(away, Math.abs(lengths[0] - lengths[1])));
    aim(limb[0], end, place);
    return { locals, missing: missing() };
  }
  for (let round = 0; round < 60 && missing() > 1e-5 * total; round++)
    for (const joint of [...limb].reverse()) aim(joint, end, place, 0.5);
  return { locals, missing: missing() };
}

/** Bends the middle of two bones so that the end is `away` from the top, in the plane in which it is bent already. */
function bend(joints: Joint[], locals: Float32Array, [top, middle]: [number, number], end: number, [upper, lower]: [number, number], away: number): void {
  const globals = chain(joints, locals);
  const [a, b, c] = [top, middle, end].map((j) => placeOf(globals, j));
  const [up, down] = [minus(a, b), minus(c, b)];
  let axis = cross(up, down);
  if (size(axis) < 1e-6 * upper * lower) axis = across(down);
  const now = Math.atan2(size(cross(up, down)), dot(up, down));
  const cosine = (upper * upper + lower * lower - away * away) / (2 * upper * lower);
  const wanted = Math.acos(Math.min(1, Math.max(-1, cosine)));
  turn(joints, locals, middle, fromVector(times(axis, (wanted - now) / size(axis))));
}
