// face_live.ts: a face whose controls are pulled: the server asks the rig, and the soft cache decides. While a control moves
// each answer follows the one before, as frames do; at rest everything is checked again, and compared with the rig.

import type { Verdict } from '../show';
import { NAMES } from './verdicts';

const QUICK = 30; // milliseconds: a rig that is compared with at every step

export interface Pulled {
  verdict: Verdict;
  evaluated: number; // points computed
  e: number;
  cacheMilliseconds: number;
  rigMilliseconds: number | null; // for all points; null: they were not computed
  regions: Float32Array; // misfits
  keys: Float32Array;
  cached: Float32Array; // positions
  keyed: Float32Array;
  truth: Float32Array | null;
}

export function readPulled(bytes: ArrayBuffer, counts: { points: number; regions: number; keys: number }): Pulled {
  const HEAD = 32;
  const view = new DataView(bytes);
  const all = bytes.byteLength >= HEAD && view.getUint32(12, true) === 1;
  const size = HEAD + 4 * (counts.regions + counts.keys + (all ? 9 : 6) * counts.points);
  if (bytes.byteLength !== size) throw new Error('The face received is incomplete.');
  let at = HEAD;
  const next = (count: number) => {
    const values = new Float32Array(bytes, at, count);
    at += 4 * count;
    return values;
  };
  return {
    verdict: NAMES[view.getUint32(0, true)] ?? 'miss', evaluated: view.getUint32(4, true), e: view.getFloat32(16, true),
    cacheMilliseconds: view.getFloat32(24, true), rigMilliseconds: all ? view.getFloat32(28, true) : null,
    regions: next(counts.regions), keys: next(counts.keys), cached: next(3 * counts.points), keyed: next(3 * counts.points),
    truth: all ? next(3 * counts.points) : null,
  };
}

export class FaceLive {
  now: Pulled | null = null;
  truth: Float32Array | null = null; // the latest; older than the rest while a slow rig is pulled
  private controls: number[] = [];
  private wanted: { rest: boolean } | null = null;
  private asked = false;
  private turn = 0; // of the subject and frame
  private settle = 0;
  private rig = 0; // milliseconds of all points, when they were last computed

  constructor(private readonly ask: (body: object) => Promise<Pulled>, private readonly changed: (problem?: unknown) => void) {}

  get active(): boolean { return this.controls.length > 0; }

  /** `everything`: the rig's points are wanted at every step, however slow. */
  pull(controls: number[], everything: boolean): void {
    this.controls = controls;
    this.everything = everything;
    this.want(false);
    clearTimeout(this.settle);
    this.settle = window.setTimeout(() => this.want(true), 250);
  }

  private everything = false;

  /** Back to the clip. */
  leave(): void {
    clearTimeout(this.settle);
    this.turn++;
    this.controls = [];
    this.now = this.truth = this.wanted = null;
  }

  private want(rest: boolean): void {
    this.wanted = { rest };
    if (!this.asked) void this.pump();
  }

  private async pump(): Promise<void> {
    this.asked = true;
    while (this.wanted) {
      const { rest } = this.wanted;
      const { turn } = this;
      this.wanted = null;
      try {
        const answer = await this.ask({ controls: this.controls, cut: rest, all: rest || this.everything || this.rig < QUICK });
        if (turn !== this.turn) continue;
        this.now = answer;
        this.truth = answer.truth ?? this.truth;
        this.rig = answer.rigMilliseconds ?? this.rig;
        this.changed();
      } catch (thrown) {
        if (turn === this.turn) this.changed(thrown);
      }
    }
    this.asked = false;
  }
}
