// adding.ts: displacements in the rest pose, added to a posed skin by hand: v += (sum_j w_j T_j) sum_k a_k u_k, as the
// run time adds those of the corrective.

import type { Pose, Skin } from 'pelt-wasm';

/** The influences of each vertex. Computed once per skin: weightsOf scans all vertices for each joint. */
interface Influences {
  first: Uint32Array; // [vertex + 1]
  joints: Uint16Array;
  weights: Float32Array;
}

export function influencesOf(skin: Skin): Influences {
  const count = skin.jointCount + skin.driven.length;
  const columns = Array.from({ length: count }, (_, j) => skin.weightsOf(j));
  const first = new Uint32Array(skin.vertexCount + 1);
  for (const column of columns) column.forEach((weight, v) => { if (weight) first[v + 1]++; });
  for (let v = 0; v < skin.vertexCount; v++) first[v + 1] += first[v];
  const joints = new Uint16Array(first[skin.vertexCount]);
  const weights = new Float32Array(first[skin.vertexCount]);
  const next = first.slice();
  columns.forEach((column, j) => column.forEach((weight, v) => {
    if (!weight) return;
    joints[next[v]] = j;
    weights[next[v]++] = weight;
  }));
  return { first, joints, weights };
}

export class Adding {
  private amounts: ReadonlyMap<number, { amount: number; shape: Float32Array }> = new Map(); // replaced, never changed
  private readonly influences: Influences;

  constructor(skin: Skin) {
    this.influences = influencesOf(skin);
  }

  get empty(): boolean {
    return this.amounts.size === 0;
  }

  amount(coefficient: number): number {
    return this.amounts.get(coefficient)?.amount ?? 0;
  }

  set(coefficient: number, amount: number, shape: Float32Array): void {
    const amounts = new Map(this.amounts);
    if (amount) amounts.set(coefficient, { amount, shape });
    else amounts.delete(coefficient);
    this.amounts = amounts;
  }

  clear(): void {
    this.amounts = new Map();
  }

  /** Everything that is added, and how to go back to it. */
  kept(): () => void {
    const { amounts } = this;
    return () => { this.amounts = amounts; };
  }

  /** Adds to the deformed positions of the pose. */
  apply(pose: Pose, positions: Float32Array): void {
    const { matrices } = pose;
    const { first, joints, weights } = this.influences;
    const blended = new Float64Array(9);
    const by = [0, 0, 0];
    const shapes = [...this.amounts.values()];
    for (let v = 0; 3 * v < positions.length; v++) {
      by.fill(0);
      for (const { amount, shape } of shapes) for (let c = 0; c < 3; c++) by[c] += amount * shape[3 * v + c];
      if (!by[0] && !by[1] && !by[2]) continue;
      blended.fill(0);
      for (let e = first[v]; e < first[v + 1]; e++)
        for (let i = 0; i < 9; i++) blended[i] += weights[e] * matrices[12 * joints[e] + 4 * Math.floor(i / 3) + (i % 3)];
      for (let r = 0; r < 3; r++) positions[3 * v + r] += blended[3 * r] * by[0] + blended[3 * r + 1] * by[1] + blended[3 * r + 2] * by[2];
    }
  }
}
