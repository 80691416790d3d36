// The types of show.json. Everything else is a resource that it names.

import type { Control, Joint as SkinJoint } from 'pelt-wasm';

export type { Control };

export interface Show {
  pelt: string;
  server: boolean; // or a fitter in this page: somebody answers further requests
  fitter?: boolean; // the page was exported with the fitter
  local?: boolean; // the fitter in this page answers, or what it has for light
  can: { fit: boolean; light: boolean; sample: boolean };
  live?: { character: number; pose: string } | null; // the latest pose of a stream
  characters: Character[];
  boxes: Box[];
}

// A skin's joint, except for the spelling in show.json.
export interface Joint extends Omit<SkinJoint, 'inverseBind'> {
  inverse_bind: number[];
}

export interface Clip {
  name: string;
  frames: number;
  seconds: number[] | null;
  poses: string; // f32 [frame][joint][10]
  controls: string | null; // f32 [frame][control]
  truth: string | null; // f32 [3 vertices] of frame %d
}

export interface Measure {
  rel_err: number | null; // relative to a linear blend with the file's own weights
  rms: number;
  max: number;
  roughness: number | null;
  normals: number | null; // degrees
  frames: number;
}

// Nanoseconds a vertex for whole frames, on one core of the server's machine: the median, and the middle half.
export interface Figures {
  nanoseconds: number;
  nanoseconds_low: number;
  nanoseconds_high: number;
  timed_frames: number;
}

/** Facts about the fit of a skin. */
export interface Facts {
  made_by: string;
  bundle: string;
  method: string;
  blend: string;
  corrective: string;
  examples: number;
  clips: string[]; // that it was trained on
  train: Measure | null;
  holdout: Measure | null;
}

// What a skin's method was chosen from, the most accurate first.
export interface Choice {
  why: string;
  candidates: { options: string; rms: number; rel_err: number | null; bytes: number; front: boolean; taken: boolean }[];
}

export interface Skin {
  index: number; // the server's
  name: string;
  file: string;
  bytes: number;
  plain?: string; // as plain glTF
  facts: Facts | null; // null: made by an older pelt
  choice?: Choice | null; // null: the method was given
  figures: string | null;
  errors: string | null; // Errors of clip %d
  measure: string | null; // Measure of clip %d
  vertices: string | null; // f32 [vertex]: RMS error over the frames of clip %d
  inside: string | null;
}

// Textures and materials of the user's file.
export interface Surface {
  uvs: string | null; // f32 [2 vertices], v downwards
  images: { file: string; type: string }[];
  parts: Part[];
}

export interface Part {
  name: string;
  material: string | null;
  first_triangle: number;
  triangles: number;
  color: number[]; // linear
  image: number | null;
  normal?: number | null; // its normal map, an image too
  alpha?: 'OPAQUE' | 'MASK' | 'BLEND';
  cutoff?: number;
  wrap?: [Wrap, Wrap];
}

export type Wrap = 'repeat' | 'mirror' | 'clamp';

export interface Character {
  name: string;
  file: string | null; // null: a skin without its bundle
  vertices: number;
  triangles: number;
  diagonal: number;
  fix?: boolean; // its caches were mended as they were read
  diagnosis?: string | null; // Diagnosis
  mesh: string;
  regions: string | null; // i32 [vertex]: the joint that moves it most by the file's weights; -1: none
  surface: string | null;
  joints: Joint[];
  controls: Control[];
  clips: Clip[];
  skins: Skin[];
}

export interface FaceClip {
  name: string;
  frames: number;
  truth: string | null;
  keyed: string; // f32 [3 points] of frame %d, from the key points alone
  cached: string; // likewise, of the soft cache
  controls: string | null; // f32 [frame][control]
  verdicts: string; // Verdicts
  trust: string; // f32 [frame][region, then key]: the misfit, trusted up to 1
}

export type Verdict = 'hit' | 'part' | 'blend' | 'miss' | 'doubt';

// Frame by frame.
export interface Verdicts {
  verdict: Verdict[];
  misfit: number[]; // at the key points
  e: number[]; // of the worst region, with the points that were checked besides them
  evaluated: number[]; // points computed
  keyed: Pick<Errors, 'rms' | 'max'>;
  cached: Pick<Errors, 'rms' | 'max'>;
}

export interface FaceBox {
  kind: 'face';
  name: string;
  mesh: string;
  diagonal: number;
  points: number;
  basis: number;
  keys: number[];
  regions: { count: number; file: string }; // u32 [point][4], f32 weights [point][4]
  controls: Control[];
  engine: string | null; // its name, if controls can be pulled
  clips: FaceClip[];
}

export interface LightBox {
  kind: 'light';
  name: string;
  width: number;
  height: number;
  keys: number[];
  light: { at: number[]; least: number[]; most: number[] };
  picture: string;
  file?: string | null; // its key points, for a page that lights the box itself
}

export type Box = FaceBox | LightBox;

export interface Diagnosis {
  findings: { severity: 'note' | 'warning' | 'fatal'; what: string; text: string; fix: boolean }[];
}

// How much there is: more than is known means that something was added.
export interface Counts {
  characters: number;
  skins: number;
  boxes: number;
}

export interface Errors {
  rms: number[];
  max: number[];
  worst_vertex: number[];
}
