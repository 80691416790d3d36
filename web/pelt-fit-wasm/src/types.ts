// types.ts: what goes into the fitter, and what comes out.

export interface Clip {
  name: string;
  poses: Float32Array; // [frames][joints][10]: rotation x y z w, translation, scale, relative to the parent
  positions?: Float32Array; // [frames][vertices][3] true positions; without them a motion, not examples
}

// A character from arrays. Lengths are in any unit; parents come before their children.
export interface Character {
  name?: string;
  positions: Float32Array; // [vertices][3] at rest
  triangles: Uint32Array; // [triangles][3]
  joints?: Uint32Array; // [vertices][influences]; without them only blends that find their own can be fitted
  weights?: Float32Array; // [vertices][influences]
  normals?: Float32Array; // [vertices][3]; default: smooth
  uvs?: Float32Array; // [vertices][2]
  parents: Int32Array; // [joints] -1: a root
  rest: Float32Array; // [joints][10], as poses
  jointNames?: string[];
  clips: Clip[];
}

// Files as they lie beside each other: body.glb, body.train.pc2, ...
// A Blob (in browsers, a File) is read from the disk as it is needed.
export type InputFiles = Record<string, Uint8Array | ArrayBuffer | Blob>;

export interface Finding {
  severity: 'note' | 'warning' | 'fatal';
  what: string; // a stable word
  text: string; // a sentence
}

export interface Opened {
  vertices: number;
  triangles: number;
  joints: number;
  diagonal: number;
  clips: { name: string; frames: number; examples: boolean }[];
  notes: Finding[];
}

export type Method = 'ssd' | 'fit' | 'joints' | 'psd' | 'wpsd' | 'eigen' | 'kernel';

// Options of `pelt fit` by name; without a method the best is chosen, within the budget where there is one.
export interface FitOptions {
  method?: Method;
  blend?: string;
  corrective?: string;
  budget?: string; // "500 kB, 1 mm"
  [option: string]: string | number | undefined;
}

export interface Measured {
  frames: number;
  vertices: number;
  rms: number;
  max: number;
  rms_fraction: number;
  max_fraction: number;
  rel_err: number | null; // null: the blend with the file's weights is exact, or there is none
  roughness: number;
  normal_rms_degrees: number;
  worst_frame: number;
  worst_vertex: number;
  frame_rms: number[];
}

export interface FittedSkin {
  bytes: Uint8Array; // a .pelt file, for pelt-wasm and every other pelt
  about: Record<string, unknown>; // what the fit says of itself: method, errors on examples it has not seen
  memory: number; // bytes that the module has taken so far
}

export interface Compared {
  options: FitOptions;
  skin: FittedSkin;
  measured: Measured;
}

// A file by its path in the fitter's memory.
export interface NamedFile {
  path: string;
  bytes: Uint8Array | Blob;
}

// The first character and the first box of key points that came with files; null: none did.
export interface Added {
  character: number | null;
  box: number | null;
}

// Where the light of a box is now. Samples: paths for each key point, or with `full` for each point; `paths`: of all points only so
// many more than were gathered for this place before.
export interface Lamp {
  box: number;
  at: number[];
  full: boolean;
  samples?: number;
  paths?: number;
}
