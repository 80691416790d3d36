// engine.ts: deforms the open skin by the chosen path: the run time as wasm, or the graphics device.
//
// wasm writes directly to the arrays that are drawn. The devices' results are read back and compared with it: the page
// shows the difference.

import { createWebGL2, createWebGPU, type Deformed, type Pelt, type Pose as PeltPose, type Skin as PeltSkin } from 'pelt-wasm';
import type { Joint } from './show';
import type { Path } from './store';
import { FLOATS, type Pose } from './pose';

interface Device {
  deform(pose: PeltPose): Deformed | Promise<Deformed>;
  free(): void;
}

type Posed = { locals: Float32Array; controls: Float32Array | null };

export interface Agreement { path: Path; distance: number }

export class Engine {
  skin: PeltSkin | null = null;
  posed: PeltPose | null = null;
  milliseconds = 0; // of the last deformation
  agreement: Agreement | null = null; // between device and wasm, over everything drawn so far
  private jointOf: Int32Array = new Int32Array(0); // [skin joint] the character's joint
  private controlOf: Int32Array = new Int32Array(0);
  private device: Device | null = null;
  private path: Path = 'wasm';

  constructor(private readonly context: () => WebGL2RenderingContext) {}

  // Throws the library's message.
  open(pelt: Pelt, bytes: ArrayBuffer, joints: Joint[], controls: { name: string }[]) {
    this.close();
    const skin = pelt.open(bytes);
    this.skin = skin;
    this.posed = skin.createPose();
    this.jointOf = matches(skin.joints, joints);
    this.controlOf = matches(skin.controls, controls);
  }

  close() {
    this.device?.free();
    this.posed?.free();
    this.skin?.free();
    this.skin = this.posed = this.device = null;
    this.path = 'wasm';
    this.agreement = null;
  }

  // Throws if the browser lacks it; then everything stays on wasm.
  async choose(path: Path) {
    if (!this.skin || path === this.path) return;
    this.device?.free();
    this.device = null;
    this.path = 'wasm';
    this.agreement = null;
    if (path === 'webgpu') this.device = await createWebGPU(this.skin);
    if (path === 'webgl2') this.device = createWebGL2(this.skin, this.context());
    this.path = path;
  }

  private take(pose: Posed, posed: PeltPose) {
    this.jointOf.forEach((from, to) => {
      if (from >= 0) posed.locals.set(pose.locals.subarray(FLOATS * from, FLOATS * (from + 1)), FLOATS * to);
    });
    this.controlOf.forEach((from, to) => {
      if (from >= 0 && pose.controls) posed.controls[to] = pose.controls[from]!;
    });
  }

  // What the skin expects its errors to be in these poses, as a whole and in all regions; null: it does not know.
  expected(poses: Posed[]): { frames: number[]; regions: number[] } | null {
    if (!this.skin?.regions.length) return null;
    const posed = this.skin.createPose();
    const all = poses.map((pose) => {
      this.take(pose, posed);
      posed.update();
      return posed.confidence()!;
    });
    posed.free();
    return { frames: all.map(({ frame }) => frame), regions: all.flatMap(({ regions }) => [...regions]) };
  }

  // A hook that may change each deformation before it is drawn.
  adjust: ((positions: Float32Array, normals: Float32Array) => void) | null = null;

  // `level` is of detail; a skin with fewer has its last.
  async deform(pose: Pose, level: number, positions: Float32Array, normals: Float32Array) {
    if (!this.posed || !this.skin) return;
    this.posed.level = Math.min(level, Math.max(0, this.skin.levelCount - 1));
    this.take(pose, this.posed);
    const before = performance.now();
    this.posed.update();
    this.posed.deform(positions, normals);
    this.milliseconds = performance.now() - before;
    if (this.adjust) this.adjust(positions, normals);
    else if (this.device) await this.deformThere(positions, normals);
  }

  private async deformThere(positions: Float32Array, normals: Float32Array) {
    const before = performance.now();
    const { path, device } = this;
    const made = await Promise.resolve(device!.deform(this.posed!)).catch((thrown) => {
      if (this.device === device) throw thrown;
      return null; // another skin or path was chosen in the meantime
    });
    if (!made || this.device !== device) return;
    this.milliseconds = performance.now() - before;
    const distance = Math.max(largestDistance(made.positions, positions), this.agreement?.path === path ? this.agreement.distance : 0);
    this.agreement = { path, distance };
    positions.set(made.positions);
    if (made.normals) normals.set(made.normals);
  }
}

// Maps the skin's entries to the character's: by index if the names agree, else by name.
function matches(skins: readonly { name: string }[], characters: readonly { name: string }[]): Int32Array {
  const byName = new Map(characters.map(({ name }, i) => [name, i]));
  return Int32Array.from(skins, ({ name }, i) => (characters[i]?.name === name ? i : byName.get(name) ?? -1));
}

export function largestDistance(a: Float32Array, b: Float32Array): number {
  let most = 0;
  for (let i = 0; i < a.length; i += 3) {
    const x = a[i]! - b[i]!, y = a[i + 1]! - b[i + 1]!, z = a[i + 2]! - b[i + 2]!;
    const square = x * x + y * y + z * z;
    if (square > most || Number.isNaN(square)) most = square; // NaN counts as the largest, and stays
  }
  return Math.sqrt(most);
}
