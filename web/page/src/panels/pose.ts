// pose.ts: poses of a skeleton as the page stores them, [joint][10] numbers: rotation x y z w, translation, scale,
// relative to the parent. What panels do with them without the run time: joint positions, training ranges, the mirror
// image, and poses as text.

import { Problem } from '../data';
import { FLOATS } from '../pose';
import type { Control, Joint } from '../show';
import { between, conjugate, multiply, rotate, toTurns, unit, type Quaternion, type Triple } from './rotation';

export const STRIDE = FLOATS;

export function restPose(joints: Joint[]): Float32Array {
  const locals = new Float32Array(STRIDE * joints.length);
  joints.forEach((joint, j) => locals.set([...joint.rest.rotation, ...joint.rest.translation, ...joint.rest.scale], STRIDE * j));
  return locals;
}

export const rotationOf = (locals: ArrayLike<number>, joint: number): Quaternion =>
  unit([0, 1, 2, 3].map((i) => locals[STRIDE * joint + i]));

/** The joint's rotation relative to rest: rest^-1 · local. */
export const sinceRest = (joints: Joint[], locals: ArrayLike<number>, joint: number): Quaternion =>
  multiply(conjugate(unit(joints[joint].rest.rotation)), rotationOf(locals, joint));

export function setSinceRest(joints: Joint[], locals: Float32Array, joint: number, rotation: Quaternion): void {
  locals.set(multiply(unit(joints[joint].rest.rotation), rotation), STRIDE * joint);
}

// -- Where joints are -------------------------------------------------------------------------------------------------

/** Matrices of all joints in model space, column-major as in three.js: [joint][16]. */
export function chain(joints: Joint[], locals: ArrayLike<number>, out: Float32Array = new Float32Array(16 * joints.length)): Float32Array {
  const local = new Float64Array(16);
  joints.forEach((joint, j) => {
    const at = STRIDE * j;
    const q = rotationOf(locals, j);
    for (let c = 0; c < 3; c++) {
      const axis: Triple = [0, 0, 0];
      axis[c] = locals[at + 7 + c];
      local.set(rotate(q, axis), 4 * c);
      local[12 + c] = locals[at + 4 + c];
    }
    local[15] = 1;
    for (let c = 0; c < 4; c++)
      for (let r = 0; r < 4; r++) {
        let sum = joint.parent < 0 ? local[4 * c + r] : 0;
        for (let k = 0; joint.parent >= 0 && k < 4; k++) sum += out[16 * joint.parent + 4 * k + r] * local[4 * c + k];
        out[16 * j + 4 * c + r] = sum;
      }
  });
  return out;
}

export const placeOf = (globals: ArrayLike<number>, joint: number): Triple =>
  [globals[16 * joint + 12], globals[16 * joint + 13], globals[16 * joint + 14]];

/** Rotates a vector from model space to a joint's space. */
export function globalRotations(joints: Joint[], locals: ArrayLike<number>): Quaternion[] {
  const all: Quaternion[] = [];
  joints.forEach((joint, j) => {
    const own = rotationOf(locals, j);
    all.push(joint.parent < 0 ? own : multiply(all[joint.parent], own));
  });
  return all;
}

/** The local axis of each joint closest to its bone: towards its children, or its parent's if it has none. */
export function boneAxes(joints: Joint[]): Uint8Array {
  const sums = joints.map(() => [0, 0, 0]);
  joints.forEach((joint) => {
    if (joint.parent >= 0) joint.rest.translation.forEach((t, i) => (sums[joint.parent][i] += t));
  });
  const axes = new Uint8Array(joints.length);
  joints.forEach((joint, j) => {
    let along = sums[j];
    if (Math.hypot(...along) < 1e-9) along = rotate(conjugate(unit(joint.rest.rotation)), joint.rest.translation);
    const sizes = along.map(Math.abs);
    axes[j] = Math.hypot(...along) < 1e-9 ? 1 : sizes.indexOf(Math.max(...sizes));
  });
  return axes;
}

// -- Training ranges --------------------------------------------------------------------------------------

/** A joint's range over some clips: degrees about its axes, including rest, and every rotation relative to rest. */
export interface Shown {
  least: Triple;
  most: Triple;
  rotations: Float32Array; // [example][4]
}

export function shownOf(joints: Joint[], joint: number, bone: number, clips: Float32Array[]): Shown {
  const frame = STRIDE * joints.length;
  const count = clips.reduce((sum, poses) => sum + Math.floor(poses.length / frame), 0);
  const shown: Shown = { least: [0, 0, 0], most: [0, 0, 0], rotations: new Float32Array(4 * count) };
  let example = 0;
  for (const poses of clips)
    for (let at = 0; at + frame <= poses.length; at += frame) {
      const rotation = sinceRest(joints, poses.subarray(at, at + frame), joint);
      shown.rotations.set(rotation, 4 * example++);
      toTurns(rotation, bone).forEach((turn, i) => {
        shown.least[i] = Math.min(shown.least[i], turn);
        shown.most[i] = Math.max(shown.most[i], turn);
      });
    }
  return shown;
}

/** How far three angles are outside the range, in degrees; below a tenth of a degree is rounding. */
export function beyond(turns: ArrayLike<number>, shown: Shown): number {
  const over = [0, 1, 2].map((i) => Math.max(0, turns[i] - shown.most[i], shown.least[i] - turns[i]));
  const sum = Math.hypot(...over);
  return sum < 0.1 ? 0 : sum;
}

/** The example whose rotation of this joint is nearest. */
export function nearest(rotation: Quaternion, shown: Shown): { example: number; degrees: number } {
  let best = { example: -1, degrees: Infinity };
  for (let e = 0; 4 * e < shown.rotations.length; e++) {
    const degrees = between(rotation, shown.rotations.subarray(4 * e, 4 * e + 4));
    if (degrees < best.degrees) best = { example: e, degrees };
  }
  return best;
}

// -- Left and right ---------------------------------------------------------------------------------------------------

/** The name of the other side, as `pelt fit --mirror` understands names: Left and Right anywhere, L and R where they
    stand alone. null: the name has no side. */
export function otherSide(name: string): string | null {
  const swap: Record<string, string> = { left: 'right', right: 'left', l: 'r', r: 'l' };
  const other = name.replace(/left|right|(?<![a-z])[lr](?![a-z])/gi, (word) => {
    const to = swap[word.toLowerCase()];
    if (word[0] === word[0].toLowerCase()) return to;
    return word.length > 1 && word[1] === word[1].toUpperCase() ? to.toUpperCase() : to[0].toUpperCase() + to.slice(1);
  });
  return other === name ? null : other;
}

export interface Mirror {
  axis: number;          // of model space, perpendicular to the plane of symmetry
  partners: Int32Array;  // [joint] its counterpart on the other side, or itself
}

/** Partners by name; if no name has a side, by rest position. null: the skeleton is not symmetric. */
export function findMirror(joints: Joint[]): Mirror | null {
  const globals = chain(joints, restPose(joints));
  const places = joints.map((_, j) => placeOf(globals, j));
  const index = new Map(joints.map((joint, j) => [joint.name, j]));
  const byName = joints.map((joint, j) => index.get(otherSide(joint.name) ?? joint.name) ?? j);
  const pairs = byName.map((other, j) => [j, other]).filter(([j, other]) => j < other);
  const size = Math.max(...[0, 1, 2].map((c) => Math.max(...places.map((p) => p[c])) - Math.min(...places.map((p) => p[c])))) || 1;
  if (pairs.length) {
    const sums = [0, 1, 2].map((c) => pairs.reduce((sum, [a, b]) => sum + Math.abs(places[a][c] - places[b][c]), 0));
    return { axis: sums.indexOf(Math.max(...sums)), partners: Int32Array.from(byName) };
  }
  for (let axis = 0; axis < 3; axis++) {
    const partners = places.map((p) => {
      const wanted = p.map((x, c) => (c === axis ? 2 * places[0][axis] - x : x));
      const apart = places.map((q) => Math.hypot(q[0] - wanted[0], q[1] - wanted[1], q[2] - wanted[2]));
      const best = apart.indexOf(Math.min(...apart));
      return apart[best] < 0.02 * size ? best : -1;
    });
    const whole = partners.every((other, j) => other >= 0 && partners[other] === j);
    if (whole && partners.some((other, j) => other !== j)) return { axis, partners: Int32Array.from(partners) };
  }
  return null;
}

/** The mirror image of a pose. Each joint's motion relative to its parent, written in the model's space at rest, is
    reflected and given to its partner; so joints may have any axes, and twice is where one began. */
export function mirrored(joints: Joint[], locals: Float32Array, mirror: Mirror): Float32Array {
  const rest = restPose(joints);
  const frames = globalRotations(joints, rest);
  const parentFrame = (j: number): Quaternion => (joints[j].parent < 0 ? [0, 0, 0, 1] : frames[joints[j].parent]);
  const out = Float32Array.from(locals);
  joints.forEach((_, j) => {
    const to = mirror.partners[j];
    const from = parentFrame(j);
    const into = conjugate(parentFrame(to));
    const motion = multiply(rotationOf(locals, j), conjugate(rotationOf(rest, j)));
    const axis = rotate(from, motion).map((x, c) => (c === mirror.axis ? x : -x));
    const turned = rotate(into, axis);
    out.set(multiply([...turned, motion[3]], rotationOf(rest, to)), STRIDE * to);
    const moved = rotate(from, [4, 5, 6].map((i) => locals[STRIDE * j + i] - rest[STRIDE * j + i]));
    moved[mirror.axis] = -moved[mirror.axis];
    rotate(into, moved).forEach((x, c) => (out[STRIDE * to + 4 + c] = rest[STRIDE * to + 4 + c] + x));
    for (let c = 7; c < STRIDE; c++) out[STRIDE * to + c] = (locals[STRIDE * j + c] / (rest[STRIDE * j + c] || 1)) * rest[STRIDE * to + c];
  });
  return out;
}

// -- Poses as text ----------------------------------------------------------------------------------------------------

const differ = (a: ArrayLike<number>, b: ArrayLike<number>, from: number, to: number): boolean => {
  for (let i = from; i < to; i++) if (Math.abs(a[i] - b[i]) > 1e-6) return true;
  return false;
};

/** The joints that are not at rest, and the controls, as readable JSON. */
export function poseText(joints: Joint[], locals: Float32Array, controls: Control[], values: ArrayLike<number>): string {
  const rest = restPose(joints);
  const short = (from: number, to: number) => Array.from(locals.subarray(from, to), (x) => Number(x.toPrecision(9)));
  const posed: Record<string, Record<string, number[]>> = {};
  joints.forEach((joint, j) => {
    const at = STRIDE * j;
    const parts: Record<string, number[]> = {};
    if (differ(locals, rest, at, at + 4)) parts.rotation = short(at, at + 4);
    if (differ(locals, rest, at + 4, at + 7)) parts.translation = short(at + 4, at + 7);
    if (differ(locals, rest, at + 7, at + 10)) parts.scale = short(at + 7, at + 10);
    if (Object.keys(parts).length) posed[joint.name] = parts;
  });
  const named = Object.fromEntries(controls.map((control, i) => [control.name, values[i]]));
  return JSON.stringify({ joints: posed, ...(controls.length ? { controls: named } : {}) }, null, 1);
}

export const listed = (names: string[]) => `${names.slice(0, 5).join(', ')}${names.length > 5 ? ' and others' : ''}`;

const numbers = (value: unknown, count: number): number[] | null =>
  Array.isArray(value) && value.length === count && value.every((x) => typeof x === 'number' && Number.isFinite(x)) ? value : null;

/** Reads what poseText writes. Throws a Problem that says what is wrong; returns unknown names. */
export function readPose(text: string, joints: Joint[], controls: Control[]): { locals: Float32Array; values: Float32Array; unknown: string[] } {
  let given: { joints?: Record<string, Record<string, unknown>>; controls?: Record<string, unknown> };
  try {
    given = JSON.parse(text);
  } catch {
    throw new Problem('The pasted text is not a pose: it is not JSON.');
  }
  if (!given || typeof given !== 'object' || typeof given.joints !== 'object' || !given.joints)
    throw new Problem('The pasted text is not a pose: it has no "joints".');
  const locals = restPose(joints);
  const values = Float32Array.from(controls, (control) => control.rest);
  const unknown: string[] = [];
  const index = new Map(joints.map((joint, j) => [joint.name, j]));
  for (const [name, parts] of Object.entries(given.joints)) {
    const j = index.get(name);
    if (j === undefined) { unknown.push(name); continue; }
    for (const [part, from, count] of [['rotation', 0, 4], ['translation', 4, 3], ['scale', 7, 3]] as const) {
      if (parts?.[part] === undefined) continue;
      const list = numbers(parts[part], count);
      if (!list) throw new Problem(`The pasted text is not a pose: the ${part} of ${name} is not ${count} numbers.`);
      locals.set(list, STRIDE * j + from);
    }
  }
  let known = Object.keys(given.joints).length - unknown.length;
  for (const [name, value] of Object.entries(given.controls ?? {})) {
    const i = controls.findIndex((control) => control.name === name);
    if (i < 0) unknown.push(name);
    else known++;
    if (i >= 0 && typeof value === 'number' && Number.isFinite(value)) values[i] = value;
  }
  if (!known && unknown.length) throw new Problem(`This character has none of the joints in that pose: ${listed(unknown)}.`);
  return { locals, values, unknown };
}
