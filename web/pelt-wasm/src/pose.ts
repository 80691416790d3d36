// pose.ts: one character: its pose, and the deformed skin.

import { POSE, RESULTS, WORDS } from "./layout.js";
import { PeltError, type Memory, type Words } from "./memory.js";
import type { Skin } from "./skin.js";

/** Floats per joint in Pose.locals. */
export const TRANSFORM_FLOATS: number = WORDS.transform;

export interface Box {
  low: [number, number, number];
  high: [number, number, number];
}

/** Expected errors, in the unit of positions. */
export interface Confidence {
  frame: number;
  regions: Float32Array;
}

/** Output in slot order: views of the module's memory, valid until anything else is opened, created or freed. */
export interface Slots {
  /** 3 per slot */
  positions: Float32Array;
  normals: Float32Array | null;
  /** 4 per slot */
  tangents: Float32Array | null;
}

export class Pose {
  /**
   * Ten numbers per joint: rotation x, y, z, w, translation, scale, relative to the parent. Writable at any time;
   * update() reads them.
   */
  readonly locals: Float32Array;
  /** One per control. */
  readonly controls: Float32Array;
  /** Of detail: 0, the whole skin, up to Skin.levelCount - 1; takes effect with update(). Skin.level() chooses one. */
  level = 0;

  #address: number;
  readonly #words: Words<typeof POSE>;
  readonly #freed: () => void;

  /** @internal */
  constructor(readonly skin: Skin, freed: () => void) {
    const { memory } = skin;
    this.#address = memory.made(memory.functions.pose_new(skin.address));
    this.#freed = freed;
    this.#words = memory.read(POSE, this.#address);
    this.locals = memory.floatsAt(this.#words.locals, skin.jointCount * TRANSFORM_FLOATS).slice();
    this.controls = memory.floatsAt(this.#words.controls, skin.controls.length).slice();
    this.update();
  }

  get #memory(): Memory {
    return this.skin.memory;
  }

  /** @internal Its address; throws if it was freed. */
  get address(): number {
    if (this.#address === 0) throw new PeltError("this pose was freed", RESULTS.PELT_ERROR_ARGUMENT);
    return this.#address;
  }

  /** Resets joints and controls to rest; takes effect with update(). */
  reset(): void {
    this.skin.joints.forEach(({ rest }, j) =>
      this.locals.set([...rest.rotation, ...rest.translation, ...rest.scale], TRANSFORM_FLOATS * j));
    this.skin.controls.forEach(({ rest }, c) => (this.controls[c] = rest));
  }

  /** Sets the rotation of one joint: a quaternion x, y, z, w relative to the parent. */
  setRotation(joint: number, rotation: ArrayLike<number>): void {
    if (!(joint >= 0 && joint < this.skin.jointCount))
      throw new RangeError(`joint ${joint} does not exist: there are ${this.skin.jointCount}`);
    for (let i = 0; i < 4; i++) this.locals[TRANSFORM_FLOATS * joint + i] = rotation[i]!;
  }

  /** Once per frame: everything that depends only on the pose. */
  update(): void {
    const { address } = this, memory = this.#memory;
    memory.floats.set(this.locals, this.#words.locals >>> 2);
    memory.floats.set(this.controls, this.#words.controls >>> 2);
    memory.floats[(address >>> 2) + POSE.level] = this.level;
    memory.functions.pose_update(address);
  }

  /** The same from the joints' transforms in model space: 12 numbers each, row-major 3x4. Does not change locals. */
  updateMatrices(globals: Float32Array): void {
    const { address } = this, memory = this.#memory, count = this.skin.jointCount * WORDS.matrix;
    if (globals.length !== count)
      throw new RangeError(`expected 12 numbers for each of ${this.skin.jointCount} joints, not ${globals.length} in all`);
    const at = memory.put(globals);
    memory.floats.set(this.controls, this.#words.controls >>> 2);
    memory.floats[(address >>> 2) + POSE.level] = this.level;
    memory.functions.pose_update_matrices(address, at);
    memory.functions.release(at);
  }

  /**
   * The coefficients of the corrective's displacements: a view, as update() left them. Empty if the skin has none, or
   * has different ones for every vertex (weighted PSD).
   */
  get coefficients(): Float32Array {
    return this.address && this.#words.coefficients
      ? this.#memory.floatsAt(this.#words.coefficients, this.skin.coefficientCount)
      : new Float32Array();
  }

  /**
   * The error to expect of this pose, as update() left it: of the frame as a whole, and of each of skin.regions. 19 of
   * 20 frames stay below. null: the skin does not know.
   */
  confidence(): Confidence | null {
    const { address } = this, memory = this.#memory, count = this.skin.regions.length;
    if (!count) return null;
    memory.made(memory.functions.pose_confidence(address));
    const [frame, ...regions] = memory.floatsAt(this.#at("expected"), 1 + count);
    return { frame: frame!, regions: Float32Array.from(regions) };
  }

  /** The matrices that move points at rest, 12 numbers each: the joints', then the driven joints'. */
  get matrices(): Float32Array {
    const { address } = this, memory = this.#memory;
    memory.made(memory.functions.pose_matrices(address));
    return memory.floatsAt(this.#at("matrices"), (this.skin.jointCount + this.skin.driven.length) * WORDS.matrix);
  }

  /**
   * Deforms into your arrays, in the file's order: such as those of BufferAttributes, 3 numbers per vertex; tangents have 4.
   */
  deform(positions: Float32Array, normals?: Float32Array | null, tangents?: Float32Array | null): void {
    const count = this.skin.vertexCount;
    checkLength(positions, 3 * count, "positions");
    if (normals) checkLength(normals, 3 * count, "normals");
    if (tangents) checkLength(tangents, 4 * count, "tangents");
    if (tangents && !this.skin.hasTangents) throw new PeltError("this skin has no tangents", RESULTS.PELT_ERROR_ARGUMENT);
    this.#run(0, normals, tangents);
    positions.set(this.#memory.floatsAt(this.#at("positions"), 3 * count));
    if (normals) normals.set(this.#memory.floatsAt(this.#at("normals"), 3 * count));
    if (tangents) tangents.set(this.#memory.floatsAt(this.#at("tangents"), 4 * count));
  }

  /** The same in slot order and without a copy; renumber indices once with skin.renumberIndices. */
  deformSlots(wanted: { normals?: boolean; tangents?: boolean } = {}): Slots {
    const slots = this.skin.slotCount, tangents = Boolean(wanted.tangents) && this.skin.hasTangents;
    const normals = Boolean(wanted.normals) || tangents;
    this.#run(1, normals, tangents);
    return {
      positions: this.#memory.floatsAt(this.#at("positions"), 3 * slots),
      normals: normals ? this.#memory.floatsAt(this.#at("normals"), 3 * slots) : null,
      tangents: tangents ? this.#memory.floatsAt(this.#at("tangents"), 4 * slots) : null,
    };
  }

  /** The bounding box of the last deformation. */
  get box(): Box {
    const [a, b, c, d, e, f] = this.#memory.floatsAt(this.address + 4 * POSE.box, 6) as unknown as number[];
    return { low: [a!, b!, c!], high: [d!, e!, f!] };
  }

  /** @internal For graphics hardware: 4 * poseStride numbers, a view; scaled: normals need separate matrices. */
  packed(poseStride: number): { floats: Float32Array; scaled: boolean } {
    const { address } = this, memory = this.#memory;
    const answer = memory.made(memory.functions.pose_pack(address));
    return { floats: memory.floatsAt(this.#at("packed"), 4 * poseStride), scaled: answer === 2 };
  }

  free(): void {
    if (this.#address === 0) return;
    this.#memory.functions.pose_free(this.#address);
    this.#address = 0;
    this.#freed();
  }

  #run(inSlots: number, normals: unknown, tangents: unknown): void {
    const memory = this.#memory;
    memory.made(memory.functions.pose_deform(this.address, inSlots, Number(Boolean(normals)), Number(Boolean(tangents))));
  }

  // An address that C may set later.
  #at(name: "positions" | "normals" | "tangents" | "matrices" | "packed" | "expected"): number {
    return this.#memory.words[(this.#address >>> 2) + POSE[name]]!;
  }
}

function checkLength(array: Float32Array, length: number, what: string): void {
  if (array.length !== length) throw new RangeError(`${what} have ${array.length} numbers, but ${length} were expected`);
}
