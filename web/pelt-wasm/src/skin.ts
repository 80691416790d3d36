// skin.ts: an opened skin: its contents, and its poses.

import { CONTROL, DRIVEN, DRIVEN_KINDS, JOINT, NUMBERS, RESULTS, SKIN, TRANSFORM, WORDS } from "./layout.js";
import { describe, PeltError, type Memory, type Words } from "./memory.js";
import { Pose } from "./pose.js";

/** Relative to the parent: scale first, then rotate (x, y, z, w), then translate. */
export interface Transform {
  rotation: [number, number, number, number];
  translation: [number, number, number];
  scale: [number, number, number];
}

export interface Joint {
  name: string;
  /** -1: a root; parents come before their children */
  parent: number;
  rest: Transform;
  /** 12: row-major 3x4 */
  inverseBind: Float32Array;
}

export type DrivenKind = keyof typeof DRIVEN_KINDS;
const KINDS = Object.keys(DRIVEN_KINDS) as DrivenKind[];

/** A joint computed from others (see pelt.h). Vectors are in the space of the rest mesh. */
export interface Driven {
  name: string;
  kind: DrivenKind;
  parent: number;
  driver: number;
  host: number;
  amount: number;
  origin: Float32Array;
  axis: Float32Array;
  upstream: Float32Array;
  downstream: Float32Array;
}

/** A named number in addition to the joints; least and most are the range in training. */
export interface Control {
  name: string;
  rest: number;
  least: number;
  most: number;
}

type SkinWords = Words<typeof SKIN>;
const BLOCK = WORDS.block;

export type Indices = Uint16Array | Uint32Array;

/** A skin as words for graphics hardware; documented in docs/howto-gpu.md. */
export interface PackedSkin {
  /** A view of the module's memory: use it before opening anything else */
  words: Uint32Array;
  /** The uniform block PeltNumbers */
  numbers: Uint32Array;
  form: number;
  phi: number;
  parts: number;
  tilts: number;
  rings: number;
  bends: number;
  ownVec4s: number;
  /** Vec4s of a pose */
  poseStride: number;
}

export class Skin {
  readonly vertexCount: number;
  readonly jointCount: number;
  /** 16 per block; vertexCount rounded up */
  readonly slotCount: number;
  readonly coefficientCount: number;
  readonly hasCorrective: boolean;
  /** Levels of detail; 1 where there is only the whole skin. */
  readonly levelCount: number;
  readonly hasTangents: boolean;
  /** Of the mesh it was made for; Pelt.meshHash computes one */
  readonly meshHash: bigint | null;
  readonly joints: readonly Joint[];
  readonly driven: readonly Driven[];
  readonly controls: readonly Control[];
  /** The names of the regions whose errors it can tell, see Pose.confidence; none if it cannot */
  readonly regions: readonly string[];
  /** JSON */
  readonly aboutText: string;

  /** @internal */ readonly memory: Memory;
  #address: number;
  readonly #words: SkinWords;
  readonly #poses = new Set<Pose>();
  readonly #names = new Map<string, number>();
  #packs = 0;

  /** @internal */
  constructor(memory: Memory, bytes: ArrayBuffer | ArrayBufferView) {
    const size = bytes.byteLength;
    const address = memory.made(memory.functions.skin_open(memory.put(bytes), size));
    const words = memory.read(SKIN, address);
    try {
      memory.check(words.result);
    } catch (error) {
      memory.functions.skin_free(address);
      throw error;
    }
    this.memory = memory;
    this.#address = address;
    this.#words = words;
    this.vertexCount = words.vertexCount;
    this.jointCount = words.jointCount;
    this.slotCount = words.blockCount * BLOCK;
    this.coefficientCount = words.coefficientCount;
    this.hasCorrective = words.hasCorrective !== 0;
    this.levelCount = words.levelCount;
    this.hasTangents = words.restTangents !== 0;
    this.meshHash = words.meshHash ? new DataView(memory.bytes.buffer).getBigUint64(words.meshHash, true) : null;
    this.joints = readJoints(memory, words);
    this.driven = readDriven(memory, words);
    this.controls = readControls(memory, words);
    this.regions = Array.from({ length: words.regionCount }, (_, r) => memory.text(memory.functions.region_name(address, r)));
    this.aboutText = memory.textOf(words.about, words.aboutSize);
    this.joints.forEach((joint, j) => this.#names.has(joint.name) || this.#names.set(joint.name, j));
  }

  /** The skin's description of itself, as printed by `pelt info --json`. Throws a PeltError where it has none, or a broken one. */
  get about(): unknown {
    return describe(this.aboutText);
  }

  /**
   * The level of detail, for Pose.level, at which vertices are at most `pixels` (1 unless given) from where the whole skin has
   * them, in a picture so many pixels high that shows a vertical angle in radians; `zone` is the part of the way from one level
   * to the next during which they fade.
   */
  level(distance: number, fieldOfView: number, height: number, pixels = 1, zone = 0.25): number {
    return this.memory.functions.skin_level(this.address, distance, fieldOfView, height, pixels, zone);
  }

  /** @internal Its address; throws if it was freed. */
  get address(): number {
    if (this.#address === 0) throw new PeltError("this skin was freed", RESULTS.PELT_ERROR_ARGUMENT);
    return this.#address;
  }

  // Its words; the file does not move.
  get #live(): SkinWords {
    void this.address;
    return this.#words;
  }

  /** The first joint of this name, -1 if there is none. */
  findJoint(name: string): number {
    return this.#names.get(name) ?? -1;
  }

  /** Create one pose per character; all start at rest. */
  createPose(): Pose {
    const pose = new Pose(this, () => this.#poses.delete(pose));
    this.#poses.add(pose);
    return pose;
  }

  /** How much a joint moves each vertex, in the file's order; driven joints come after the others. */
  weightsOf(joint: number): Float32Array {
    const w = this.#live, { memory } = this;
    if (!(joint >= 0 && joint < this.jointCount + this.driven.length))
      throw new RangeError(`joint ${joint} does not exist: there are ${this.jointCount + this.driven.length}`);
    const first = memory.wordsAt(w.blockFirst, w.blockCount + 1);
    const entries = first[w.blockCount] ?? 0;
    const joints = memory.shortsAt(w.entryJoints, entries);
    const weights = memory.floatsAt(w.entryWeights, entries * BLOCK);
    const out = new Float32Array(this.vertexCount);
    this.#eachSlot((vertex, slot) => {
      const block = Math.floor(slot / BLOCK);
      for (let e = first[block]!; e < first[block + 1]!; e++)
        if (joints[e] === joint) out[vertex] = weights[BLOCK * e + (slot % BLOCK)]!;
    });
    return out;
  }

  /** The joints that move a vertex, the strongest first; driven joints come after the others in number. */
  weightsAt(vertex: number): { joint: number; weight: number }[] {
    const w = this.#live, { memory } = this;
    const slot = this.vertexSlots[vertex];
    if (slot === undefined) throw new RangeError(`vertex ${vertex} does not exist: there are ${this.vertexCount}`);
    const block = Math.floor(slot / BLOCK);
    const first = memory.wordsAt(w.blockFirst, w.blockCount + 1);
    const [from, to] = [first[block]!, first[block + 1]!];
    const joints = memory.shortsAt(w.entryJoints, to);
    const weights = memory.floatsAt(w.entryWeights, to * BLOCK);
    const out = [];
    for (let e = from; e < to; e++) {
      const weight = weights[BLOCK * e + (slot % BLOCK)]!;
      if (weight !== 0) out.push({ joint: joints[e]!, weight });
    }
    return out.sort((a, b) => Math.abs(b.weight) - Math.abs(a.weight));
  }

  /** The mesh at rest in the file's order, without the corrective. */
  restPositions(): Float32Array {
    return this.#rest(this.#live.restPositions);
  }

  restNormals(): Float32Array {
    return this.#rest(this.#live.restNormals);
  }

  /** For output in slot order: replaces each index by its vertex's slot, once. */
  renumberIndices<T extends Indices>(indices: T): T {
    const slots = this.vertexSlots;
    if (indices instanceof Uint16Array && this.slotCount > 0x10000)
      throw new RangeError(`${this.slotCount} slots do not fit into 16-bit indices; use a Uint32Array`);
    for (let i = 0; i < indices.length; i++) {
      const slot = slots[indices[i]!];
      if (slot === undefined)
        throw new RangeError(`index ${indices[i]} is not a vertex of this skin, which has ${this.vertexCount}`);
      indices[i] = slot;
    }
    return indices;
  }

  /** A copy in slot order of an attribute that pelt does not deform, such as texture coordinates. */
  reorderAttribute<T extends Float32Array | Uint8Array | Uint16Array | Uint32Array>(from: T, itemSize: number): T {
    if (from.length !== itemSize * this.vertexCount)
      throw new RangeError(`expected ${itemSize} numbers for each of ${this.vertexCount} vertices, not ${from.length} in all`);
    const to = new (from.constructor as new (length: number) => T)(itemSize * this.slotCount);
    this.#eachSlot((vertex, slot) => {
      for (let i = 0; i < itemSize; i++) to[itemSize * slot + i] = from[itemSize * vertex + i]!;
    });
    return to;
  }

  /** The slot of each vertex. A view: valid until anything else is opened. */
  get vertexSlots(): Uint32Array {
    return this.memory.wordsAt(this.#live.vertexSlots, this.vertexCount);
  }

  /** The region of each vertex, a number below regions.length; empty without regions. A copy. */
  vertexRegions(): Uint8Array {
    const at = this.#live.vertexRegions;
    return at ? this.memory.bytes.slice(at, at + this.vertexCount) : new Uint8Array();
  }

  /** Frees it with all its remaining poses. */
  free(): void {
    if (this.#address === 0) return;
    for (const pose of [...this.#poses]) pose.free();
    this.memory.functions.skin_free(this.#address);
    this.#address = 0;
  }

  /** Packs it for graphics hardware and passes it to the uploader; the words are freed afterwards. */
  withPacked<T>(use: (packed: PackedSkin) => T): T {
    const { address, memory } = this;
    memory.made(memory.functions.skin_pack(address));
    this.#packs++;
    try {
      const w = memory.read(SKIN, address);
      const numbers = memory.wordsAt(w.numbers, WORDS.numbers).slice();
      return use({
        words: memory.wordsAt(w.words, w.wordCount), numbers, form: w.form, phi: w.phi, parts: w.parts, tilts: w.tilts,
        rings: w.rings, bends: w.bends, ownVec4s: w.ownVec4s, poseStride: numbers[NUMBERS.pose_stride]!,
      });
    } finally {
      if (--this.#packs === 0) memory.functions.skin_drop_words(address);
    }
  }

  #eachSlot(visit: (vertex: number, slot: number) => void): void {
    this.vertexSlots.forEach((slot, vertex) => visit(vertex, slot));
  }

  #rest(address: number): Float32Array {
    const from = this.memory.floatsAt(address, 3 * this.slotCount);
    const out = new Float32Array(3 * this.vertexCount);
    this.#eachSlot((vertex, slot) => {
      for (let i = 0; i < 3; i++) out[3 * vertex + i] = from[(Math.floor(slot / BLOCK) * 3 + i) * BLOCK + (slot % BLOCK)]!;
    });
    return out;
  }
}

function readJoints(memory: Memory, words: SkinWords): Joint[] {
  return Array.from({ length: words.jointCount }, (_, j) => {
    const at = words.joints / 4 + WORDS.joint * j;
    const numbers = (first: number, count: number) => memory.floats.slice(at + first, at + first + count);
    const three = (first: number) => [...numbers(JOINT.rest + first, 3)] as [number, number, number];
    return {
      name: memory.text(words.names + memory.words[at + JOINT.name]!),
      parent: memory.signed[at + JOINT.parent]!,
      rest: {
        rotation: [...numbers(JOINT.rest + TRANSFORM.rotation, 4)] as [number, number, number, number],
        translation: three(TRANSFORM.translation),
        scale: three(TRANSFORM.scale),
      },
      inverseBind: numbers(JOINT.inverseBind, WORDS.matrix),
    };
  });
}

function readDriven(memory: Memory, words: SkinWords): Driven[] {
  return Array.from({ length: words.drivenCount }, (_, i) => {
    const at = words.driven / 4 + WORDS.driven * i;
    const vector = (first: number) => memory.floats.slice(at + first, at + first + 3);
    return {
      name: memory.text(words.names + memory.words[at + DRIVEN.name]!),
      kind: KINDS[memory.words[at + DRIVEN.kind]!]!,
      parent: memory.signed[at + DRIVEN.parent]!,
      driver: memory.words[at + DRIVEN.driver]!,
      host: memory.words[at + DRIVEN.host]!,
      amount: memory.floats[at + DRIVEN.amount]!,
      origin: vector(DRIVEN.origin), axis: vector(DRIVEN.axis),
      upstream: vector(DRIVEN.upstream), downstream: vector(DRIVEN.downstream),
    };
  });
}

function readControls(memory: Memory, words: SkinWords): Control[] {
  return Array.from({ length: words.controlCount }, (_, i) => {
    const at = words.controls / 4 + WORDS.control * i;
    const [rest, least, most] = [CONTROL.rest, CONTROL.least, CONTROL.most].map((word) => memory.floats[at + word]!);
    return { name: memory.text(words.names + memory.words[at + CONTROL.name]!), rest: rest!, least: least!, most: most! };
  });
}
