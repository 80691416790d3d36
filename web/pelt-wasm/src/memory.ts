// memory.ts: the module's functions, and views of its memory that are renewed when it grows.

import { RESULTS } from "./layout.js";

/** What pelt_wasm.c exports; addresses are numbers. */
export interface Functions {
  memory: WebAssembly.Memory;
  _initialize?(): void;
  allocate(size: number): number;
  release(address: number): void;
  result_text(result: number): number;
  version(): number;
  mesh_hash(positions: number, vertices: number, triangles: number, count: number): bigint;
  skin_open(bytes: number, size: number): number;
  skin_free(skin: number): void;
  skin_level(skin: number, distance: number, fieldOfView: number, height: number, pixels: number, zone: number): number;
  region_name(skin: number, region: number): number;
  skin_pack(skin: number): number;
  skin_drop_words(skin: number): void;
  pose_new(skin: number): number;
  pose_free(pose: number): void;
  pose_update(pose: number): void;
  pose_update_matrices(pose: number, globals: number): void;
  pose_matrices(pose: number): number;
  pose_deform(pose: number, inSlots: number, normals: number, tangents: number): number;
  pose_pack(pose: number): number;
  pose_confidence(pose: number): number;
  keys_open(bytes: number, size: number): number;
  keys_free(keys: number): void;
  keys_solve(keys: number): void;
}

/** The words of a struct by name. */
export type Words<Layout> = Record<keyof Layout, number>;

/** A failure of the library: its message, and its code, one of pelt.h's pelt_result. */
export class PeltError extends Error {
  override readonly name = "PeltError";
  constructor(message: string, readonly code: number) {
    super(message);
  }
}

/** @internal A file's description of itself. */
export function describe(text: string): unknown {
  if (!text) throw new PeltError("the file has no description of itself", RESULTS.PELT_ERROR_FORMAT);
  try {
    return JSON.parse(text);
  } catch {
    throw new PeltError("the file's description of itself is not JSON", RESULTS.PELT_ERROR_FORMAT);
  }
}

export class Memory {
  #buffer: ArrayBuffer | null = null;
  #bytes = new Uint8Array();
  #words = new Uint32Array();
  #signed = new Int32Array();
  #floats = new Float32Array();

  constructor(readonly functions: Functions) {}

  // Renews all views if the memory has grown.
  #refresh(): void {
    const buffer = this.functions.memory.buffer;
    if (buffer === this.#buffer) return;
    this.#buffer = buffer;
    this.#bytes = new Uint8Array(buffer);
    this.#words = new Uint32Array(buffer);
    this.#signed = new Int32Array(buffer);
    this.#floats = new Float32Array(buffer);
  }

  get bytes(): Uint8Array { this.#refresh(); return this.#bytes; }
  get words(): Uint32Array { this.#refresh(); return this.#words; }
  get signed(): Int32Array { this.#refresh(); return this.#signed; }
  get floats(): Float32Array { this.#refresh(); return this.#floats; }

  /** Reads the struct at an address; `layout` comes from layout.ts. */
  read<Layout extends Record<string, number>>(layout: Layout, address: number): Words<Layout> {
    const words = this.words, first = address >>> 2;
    return Object.fromEntries(Object.entries(layout).map(([name, at]) => [name, words[first + at] ?? 0])) as Words<Layout>;
  }

  floatsAt(address: number, count: number): Float32Array {
    return new Float32Array(this.functions.memory.buffer, address, count);
  }

  wordsAt(address: number, count: number): Uint32Array {
    return new Uint32Array(this.functions.memory.buffer, address, count);
  }

  shortsAt(address: number, count: number): Uint16Array {
    return new Uint16Array(this.functions.memory.buffer, address, count);
  }

  /** Zero-terminated UTF-8. */
  text(address: number): string {
    const bytes = this.bytes;
    let end = address;
    while (bytes[end] !== 0) end++;
    return this.textOf(address, end - address);
  }

  textOf(address: number, size: number): string {
    return new TextDecoder().decode(this.bytes.subarray(address, address + size));
  }

  /** Throws the message of a nonzero result. */
  check(result: number): void {
    if (result !== 0) throw new PeltError(this.text(this.functions.result_text(result)), result);
  }

  /** For functions that return an address or 1, and 0 when out of memory. */
  made(answer: number): number {
    if (answer === 0) this.check(RESULTS.PELT_ERROR_MEMORY);
    return answer;
  }

  /** A copy of a file's bytes, aligned as the library requires; whoever opens it owns it. */
  put(bytes: ArrayBuffer | ArrayBufferView): number {
    const from = ArrayBuffer.isView(bytes)
      ? new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength)
      : new Uint8Array(bytes);
    const address = this.made(this.functions.allocate(from.length));
    this.bytes.set(from, address);
    return address;
  }
}
