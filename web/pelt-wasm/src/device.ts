// device.ts: shared by graphics devices: shader constants, limits, and output arrays.

import { RESULTS } from "./layout.js";
import { PeltError } from "./memory.js";
import type { PackedSkin, Skin } from "./skin.js";

/** Positions and normals in the file's order, 3 numbers each. */
export interface Deformed {
  positions: Float32Array;
  normals: Float32Array | null;
}

export interface DeformOptions {
  /** Default true */
  normals?: boolean;
  /** Your arrays; default: new ones */
  into?: Deformed;
}

// WebGPU's types, where the user's compiler knows them; it need not.
type Global<Name extends string> = typeof globalThis extends Record<Name, { prototype: infer T }> ? T : any;
export type WebGPUDevice = Global<"GPUDevice">;
export type WebGPUBuffer = Global<"GPUBuffer">;

/** What a shader needs to know about a skin, besides its words. */
export interface ShaderShape {
  form: number;
  tilts: number;
  phi: number;
  parts: number;
  /** Normals of the deformed surface: 0 no, triangles count 1 by area, 2 by angle; bends: 1 if they deviate from it */
  rings: number;
  bends: number;
}

export const shapeOf = ({ form, tilts, phi, parts, rings, bends }: PackedSkin): ShaderShape =>
  ({ form, tilts, phi, parts, rings, bends });

export function refuse(what: string, wanted: number, limit: string, has: number, of = "this context"): never {
  throw new PeltError(`${what} needs ${wanted}, but ${limit} of ${of} is ${has}`, RESULTS.PELT_ERROR_DEVICE);
}

export function deviceError(sentence: string): PeltError {
  return new PeltError(sentence, RESULTS.PELT_ERROR_DEVICE);
}

/** Output arrays; checked if they are the caller's. */
export function roomFor(skin: Skin, options: DeformOptions): Deformed {
  const count = 3 * skin.vertexCount, normals = options.normals ?? true;
  const out = options.into ?? { positions: new Float32Array(count), normals: normals ? new Float32Array(count) : null };
  if (out.positions.length !== count || (normals && out.normals?.length !== count))
    throw new RangeError(`expected arrays of ${count} numbers for positions${normals ? " and for normals" : ""}`);
  return out;
}
