// pose.ts: the pose that is drawn: the clip's, with the user's changes on top.

import { TRANSFORM_FLOATS } from 'pelt-wasm';
import type { Character } from './show';
import type { PoseNow } from './app';

export const FLOATS = TRANSFORM_FLOATS; // rotation xyzw, translation, scale

export const restOf = (character: Character) =>
  Float32Array.from(character.joints.flatMap(({ rest }) => [...rest.rotation, ...rest.translation, ...rest.scale]));

// The user's changes.
export interface Pulled { joints: Map<number, Float32Array>; controls: Map<number, number> }

export class Pose implements PoseNow {
  locals = new Float32Array(0);
  controls = new Float32Array(0);
  clip = new Float32Array(0);
  private clipControls = new Float32Array(0);
  private readonly pulledJoints = new Map<number, Float32Array>();
  private readonly pulledControls = new Map<number, number>();

  constructor(private readonly changed: () => void) {}

  get pulled(): boolean {
    return this.pulledJoints.size + this.pulledControls.size > 0;
  }

  // A character at rest, until a clip sets its pose.
  start(character: Character) {
    this.forget();
    this.clip = restOf(character);
    this.clipControls = Float32Array.from(character.controls, ({ rest }) => rest);
    this.locals = this.clip.slice();
    this.controls = this.clipControls.slice();
  }

  // Drops the user's changes, for another subject.
  forget() {
    this.pulledJoints.clear();
    this.pulledControls.clear();
  }

  kept(): Pulled { return { joints: new Map(this.pulledJoints), controls: new Map(this.pulledControls) }; }

  restore({ joints, controls }: Pulled) {
    this.forget();
    for (const [joint, transform] of joints) this.pulledJoints.set(joint, transform);
    for (const [control, value] of controls) this.pulledControls.set(control, value);
    this.mix();
  }

  setClip(locals: Float32Array, controls: Float32Array | null) {
    this.clip = locals.slice();
    if (controls) this.clipControls = controls.slice();
    this.mix();
  }

  private mix() {
    this.locals.set(this.clip);
    this.controls.set(this.clipControls);
    for (const [joint, transform] of this.pulledJoints) this.locals.set(transform, FLOATS * joint);
    for (const [control, value] of this.pulledControls) this.controls[control] = value;
    this.changed();
  }

  setLocal(joint: number, transform: ArrayLike<number>) {
    this.pulledJoints.set(joint, Float32Array.from(transform));
    this.mix();
  }

  setControl(control: number, value: number) {
    this.pulledControls.set(control, value);
    this.mix();
  }

  reset(joint?: number) {
    if (joint === undefined) {
      this.pulledJoints.clear();
      this.pulledControls.clear();
    } else {
      this.pulledJoints.delete(joint);
    }
    this.mix();
  }
}
