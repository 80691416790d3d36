// keys.ts: key points (Meyer & Anderson 2007): values at all points from values at a few.

import { KEYS, RESULTS } from "./layout.js";
import { describe, PeltError, type Memory } from "./memory.js";

/** How badly the subspace explains the keys; trusted up to e = 1. */
export interface Misfit {
  rms: number;
  largest: number;
  e: number;
}

export class Keys {
  readonly pointCount: number;
  readonly componentCount: number;
  readonly keyCount: number;
  readonly basisCount: number;
  readonly regionCount: number;
  readonly enginePointCount: number;
  readonly frameCount: number;
  readonly diagonal: number;
  /** The points that are keys */
  readonly keyPoints: Uint32Array;
  readonly aboutText: string;
  readonly #memory: Memory;
  readonly #keyValues: number;
  readonly #values: number;
  #address: number;

  /** @internal */
  constructor(memory: Memory, bytes: ArrayBuffer | ArrayBufferView) {
    const size = bytes.byteLength;
    const address = memory.made(memory.functions.keys_open(memory.put(bytes), size));
    const words = memory.read(KEYS, address);
    try {
      memory.check(words.result);
    } catch (error) {
      memory.functions.keys_free(address);
      throw error;
    }
    this.#memory = memory;
    this.#address = address;
    this.pointCount = words.pointCount;
    this.componentCount = words.componentCount;
    this.keyCount = words.keyCount;
    this.basisCount = words.basisCount;
    this.regionCount = words.regionCount;
    this.enginePointCount = words.enginePointCount;
    this.frameCount = words.frameCount;
    this.diagonal = memory.floats[(address >>> 2) + KEYS.diagonal]!;
    this.keyPoints = memory.wordsAt(words.keyPoints, words.keyCount).slice();
    this.aboutText = memory.textOf(words.about, words.aboutSize);
    this.#keyValues = words.keyValues;
    this.#values = words.values;
  }

  /** The file's description of itself. Throws a PeltError where it has none, or a broken one. */
  get about(): unknown {
    return describe(this.aboutText);
  }

  /**
   * Reconstructs values at all points, in your array, from values at the keys [keyCount][componentCount], in keyPoints order.
   */
  reconstruct(keyValues: Float32Array, values: Float32Array): Misfit {
    if (this.#address === 0) throw new PeltError("these keys were freed", RESULTS.PELT_ERROR_ARGUMENT);
    const keys = this.keyCount * this.componentCount, all = this.pointCount * this.componentCount;
    if (keyValues.length !== keys || values.length !== all)
      throw new RangeError(`expected ${keys} key values and ${all} values, not ${keyValues.length} and ${values.length}`);
    const memory = this.#memory;
    memory.floats.set(keyValues, this.#keyValues >>> 2);
    memory.functions.keys_solve(this.#address);
    values.set(memory.floatsAt(this.#values, all));
    const [rms, largest, e] = memory.floatsAt(this.#address + 4 * KEYS.misfit, 3) as unknown as number[];
    return { rms: rms!, largest: largest!, e: e! };
  }

  free(): void {
    if (this.#address !== 0) this.#memory.functions.keys_free(this.#address);
    this.#address = 0;
  }
}
