// app.ts: what a panel may rely on.

import type { Group, OrthographicCamera, PerspectiveCamera } from 'three';
import type { Box, Character, Clip, FaceBox, LightBox } from './show';
import type { Data, MeshData } from './data';
import type { Store } from './store';
import type { History } from './history';
import type { Pelt, Skin as PeltSkin, Pose as PeltPose } from 'pelt-wasm';

// The current subject: a character with its skins, a face of key points (the model is the keyed face), or a relit
// scene.
export type Subject =
  | { kind: 'character'; name: string; character: Character; index: number }
  | { kind: 'face'; name: string; box: FaceBox; index: number }
  | { kind: 'light'; name: string; box: LightBox; index: number };

// The pose that is drawn: the clip's at the current frame, with the user's changes on top.
export interface PoseNow {
  readonly locals: Float32Array; // [joint][10] of the character's joints: rotation xyzw, translation, scale
  readonly controls: Float32Array;
  readonly pulled: boolean; // it differs from the clip, so there is no truth for it
  setLocal(joint: number, transform: ArrayLike<number>): void; // 10 numbers
  setControl(control: number, value: number): void;
  reset(joint?: number): void; // back to the clip, one joint or all
  clip: Float32Array; // [joint][10] of the clip at this frame, without pulling
}

export type Pane = 'truth' | 'model' | 'difference' | 'other'; // other: the second of two skins

export interface Stage {
  readonly camera: PerspectiveCamera | OrthographicCamera; // one for all panes; 'camera' on the element says that it is another
  readonly overlay: Group; // drawn over the model, in scene units; depthTest off draws through the skin
  readonly mesh: MeshData | null; // the rest mesh
  readonly positions: Float32Array | null; // the model's, as drawn now
  readonly normals: Float32Array | null;
  readonly truth: Float32Array | null; // of this frame, null without
  pane(name: Pane): HTMLElement | null; // covers its part of the picture: for TransformControls and raycasters
  orbit(enabled: boolean): void; // off while a gizmo is dragged
  paint(colours: Float32Array | null): void; // [vertex][3], 0..1 sRGB, on the model instead of its shading
  // Runs after each deformation, before drawing, and may change it; forces the wasm path while set.
  adjust(call: ((positions: Float32Array, normals: Float32Array) => void) | null): void;
  cover(element: HTMLElement | null): void; // replaces the panes (the light's picture)
  redraw(): void;
  readonly element: HTMLElement;
}

export interface Events {
  subject: Subject; // its mesh is loaded
  skin: PeltSkin | null; // opened, or none
  pose: PoseNow; // changed by the clip or by the user
  deformed: { milliseconds: number }; // new positions and normals
  shown: void; // the list of subjects or skins has grown (a fit finished, a bundle was dropped)
}

export interface App {
  readonly data: Data;
  readonly store: Store;
  readonly pelt: Promise<Pelt>;
  readonly pose: PoseNow;
  readonly stage: Stage;
  readonly under: HTMLElement; // below the timeline's track and as wide, for strips along the clip
  readonly server: boolean; // required by fits and light; the fitter in this page is one
  readonly local: boolean; // it is the fitter in this page
  readonly can: { fit: boolean; light: boolean; sample: boolean };
  subjects(): Subject[];
  subject(): Subject | null;
  clip(): Clip | null;
  showFace(face: { model: Float32Array; truth: Float32Array | null } | null): void; // of pulled controls, until the frame changes; null: back to the clip
  skin(): PeltSkin | null; // the open one
  posed(): PeltPose | null; // its updated pose: coefficients and matrices match the picture
  on<E extends keyof Events>(event: E, call: (value: Events[E]) => void): () => void;
  // Changes the pose or the frame so that it can be undone. Steps of one gesture, close together, are one change.
  act(says: string, call: () => void, gesture?: string, pause?: number): void;
  readonly history: History; // for what else can be undone
  say(sentence: string, kind?: 'note' | 'problem'): void; // to the user; text, never markup
  problem(thrown: unknown): void; // reports it to the user
  refresh(): Promise<void>; // reads show.json again
}

// A panel is one file under src/panels/, listed in src/panels/index.ts. mount() is called once, when the panel is first
// opened; the function it returns is called when the panel is shown and hidden.
export interface Panel {
  id: string;
  title: string;
  key?: string; // one letter that opens it
  suits?(subject: Subject | null, app: App): boolean; // if false, it is not offered
  mount(element: HTMLElement, app: App): { shown?(): void; hidden?(): void } | void;
}

export type { Box };
