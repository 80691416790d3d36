// pelt-wasm: run pelt skins in browsers and node.
//
//     const pelt = await loadPelt();
//     const skin = pelt.open(await (await fetch("body.pelt")).arrayBuffer());
//     const pose = skin.createPose();
//     pose.setRotation(skin.findJoint("elbow"), [0, 0, 0.38, 0.92]);
//     pose.update();
//     pose.deform(geometry.attributes.position.array, geometry.attributes.normal.array);

import { Keys } from "./keys.js";
import { Memory, type Functions } from "./memory.js";
import { Skin } from "./skin.js";

export class Pelt {
  readonly version: string;
  readonly #memory: Memory;

  /** @internal */
  constructor(functions: Functions) {
    functions._initialize?.();
    this.#memory = new Memory(functions);
    this.version = this.#memory.text(functions.version());
  }

  /** Opens a .pelt file in memory and keeps a copy. Throws a PeltError with the library's message. */
  open(bytes: ArrayBuffer | ArrayBufferView): Skin {
    return new Skin(this.#memory, bytes);
  }

  /** The same for a .keys file. */
  openKeys(bytes: ArrayBuffer | ArrayBufferView): Keys {
    return new Keys(this.#memory, bytes);
  }

  /**
   * A hash of rest positions and triangles in the file's order, to compare with skin.meshHash.
   */
  meshHash(positions: Float32Array, triangles: Uint16Array | Uint32Array): bigint {
    const { functions } = this.#memory;
    const points = this.#memory.put(positions);
    const corners = this.#memory.put(triangles instanceof Uint32Array ? triangles : Uint32Array.from(triangles));
    const hash = functions.mesh_hash(points, positions.length / 3, corners, triangles.length / 3);
    functions.release(points);
    functions.release(corners);
    return BigInt.asUintN(64, hash);
  }

  /** Bytes allocated by the module; they are reused but never returned. */
  get memoryBytes(): number {
    return this.#memory.functions.memory.buffer.byteLength;
  }
}

export type WasmSource = string | URL | Response | ArrayBuffer | ArrayBufferView | WebAssembly.Module;

async function compile(source: WasmSource): Promise<WebAssembly.Module> {
  if (source instanceof WebAssembly.Module) return source;
  if (source instanceof ArrayBuffer || ArrayBuffer.isView(source)) return WebAssembly.compile(source as BufferSource);
  const url = source instanceof Response ? source.url : String(source);
  if (url.startsWith("file:")) return WebAssembly.compile(await readLocal(url));
  const response = source instanceof Response ? source : await fetch(url);
  if (!response.ok) throw new Error(`${url} cannot be loaded: status ${response.status}`);
  // As bytes and not as a stream: many servers do not know the MIME type of .wasm files.
  return WebAssembly.compile(await response.arrayBuffer());
}

/** For node, whose fetch cannot read files. The module name is hidden from bundlers, which would resolve it. */
async function readLocal(url: string): Promise<BufferSource> {
  const name = "node:fs/promises";
  const { readFile } = (await import(/* @vite-ignore */ /* webpackIgnore: true */ name)) as {
    readFile(path: URL): Promise<Uint8Array<ArrayBuffer>>;
  };
  return readFile(new URL(url));
}

/** Loads the module: the package's own, or from a URL, bytes or a response. */
export async function loadPelt(source: WasmSource = new URL("./pelt.wasm", import.meta.url)): Promise<Pelt> {
  const instance = await WebAssembly.instantiate(await compile(source), {});
  return new Pelt(instance.exports as unknown as Functions);
}

export { PeltError } from "./memory.js";
export { Keys, type Misfit } from "./keys.js";
export { Pose, TRANSFORM_FLOATS, type Box, type Confidence, type Slots } from "./pose.js";
export {
  Skin, type Control, type Driven, type DrivenKind, type Indices, type Joint, type PackedSkin, type Transform,
} from "./skin.js";
export { type Deformed, type DeformOptions, type WebGPUBuffer, type WebGPUDevice } from "./device.js";
export { createWebGL2, WebGL2Player } from "./webgl2.js";
export { createWebGPU, WebGPUPlayer, type WebGPUOptions } from "./webgpu.js";
export { createThree, ThreeSkin, type ThreeMaterial, type ThreeNamespace, type ThreeOptions } from "./three.js";
