// rotation.ts: rotations of joints, and the three angles users edit.
//
// A joint's rotation relative to rest is split as R = swing · twist: the twist is about the joint's local axis closest
// to its bone, the swing about the other two, as a rotation vector. So every angle is about a local axis, an angle set
// alone is exactly that rotation, and there is no gimbal lock short of half a turn.

export type Quaternion = [number, number, number, number]; // x, y, z, w
export type Triple = [number, number, number];

const DEGREES = 180 / Math.PI;

export function multiply(a: ArrayLike<number>, b: ArrayLike<number>): Quaternion {
  return [
    a[3] * b[0] + a[0] * b[3] + a[1] * b[2] - a[2] * b[1],
    a[3] * b[1] - a[0] * b[2] + a[1] * b[3] + a[2] * b[0],
    a[3] * b[2] + a[0] * b[1] - a[1] * b[0] + a[2] * b[3],
    a[3] * b[3] - a[0] * b[0] - a[1] * b[1] - a[2] * b[2],
  ];
}

export const conjugate = (q: ArrayLike<number>): Quaternion => [-q[0], -q[1], -q[2], q[3]];

export function unit(q: ArrayLike<number>): Quaternion {
  const length = Math.hypot(q[0], q[1], q[2], q[3]);
  return length > 0 ? [q[0] / length, q[1] / length, q[2] / length, q[3] / length] : [0, 0, 0, 1];
}

export function rotate(q: ArrayLike<number>, v: ArrayLike<number>): Triple {
  const turned = multiply(multiply(q, [v[0], v[1], v[2], 0]), conjugate(q));
  return [turned[0], turned[1], turned[2]];
}

/** The rotation by |v| radians about v. */
export function fromVector(v: Triple): Quaternion {
  const angle = Math.hypot(...v);
  const scale = angle > 1e-12 ? Math.sin(angle / 2) / angle : 0.5;
  return [v[0] * scale, v[1] * scale, v[2] * scale, Math.cos(angle / 2)];
}

/** Its inverse, the shorter way round. */
export function toVector(q: ArrayLike<number>): Triple {
  const sine = Math.hypot(q[0], q[1], q[2]);
  const sign = q[3] < 0 ? -1 : 1;
  const scale = sine > 1e-12 ? (sign * 2 * Math.atan2(sine, Math.abs(q[3]))) / sine : sign * 2;
  return [q[0] * scale, q[1] * scale, q[2] * scale];
}

/** Degrees between two rotations. */
export function between(a: ArrayLike<number>, b: ArrayLike<number>): number {
  const q = multiply(conjugate(a), b);
  return 2 * DEGREES * Math.atan2(Math.hypot(q[0], q[1], q[2]), Math.abs(q[3]));
}

/** Degrees about x, y, z of the joint; that of axis `bone` is the twist. */
export function toTurns(q: ArrayLike<number>, bone: number): Triple {
  const twist: Quaternion = [0, 0, 0, q[3]];
  twist[bone] = q[bone];
  const about = Math.hypot(q[bone], q[3]) > 1e-9 ? unit(twist) : ([0, 0, 0, 1] as Quaternion);
  const turns = toVector(multiply(q, conjugate(about)));
  turns[bone] = toVector(about)[bone];
  return turns.map((radians) => radians * DEGREES) as Triple;
}

export function fromTurns(degrees: ArrayLike<number>, bone: number): Quaternion {
  const swing = [degrees[0] / DEGREES, degrees[1] / DEGREES, degrees[2] / DEGREES] as Triple;
  const twist: Triple = [0, 0, 0];
  twist[bone] = swing[bone];
  swing[bone] = 0;
  return multiply(fromVector(swing), fromVector(twist));
}
