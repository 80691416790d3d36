// store.ts: the user's choices. Everything drawn follows from them and from the resources.

export type Layout = 'side' | 'overlay' | 'wipe' | 'model' | 'skins';
export type Shading = 'clay' | 'textures' | 'normals';
export type Path = 'wasm' | 'webgpu' | 'webgl2';

export interface State {
  subject: number; // index in app.subjects
  skin: number;
  other: number; // the second of two skins side by side
  vertex: number; // marked in the panes; -1: none
  probe: boolean; // tells of the vertex under the pointer
  clip: number;
  frame: number;
  playing: boolean;
  speed: number; // relative to the clip; 0: one frame per display refresh
  layout: Layout;
  shading: Shading;
  wireframe: boolean;
  difference: boolean; // the heat map on the model, when it has no pane
  wipe: number; // share of the width that shows the truth
  blend: number; // share of the model in the overlay
  scale: number | null; // top of the heat map in the file's units; null: from the skins
  ground: boolean; // a grid under the character
  flat: boolean; // without perspective
  level: number; // of detail: 0, the whole skin; between two whole numbers one fades into the next
  path: Path;
  panel: string; // id of the open panel
}

export const FIRST: State = {
  subject: -1, skin: 0, other: 1, vertex: -1, probe: true, clip: 0, frame: 0, playing: false, speed: 1,
  layout: 'side', shading: 'clay', wireframe: false, difference: false, wipe: 0.5, blend: 0.5, scale: null, ground: true, flat: false, level: 0, path: 'wasm', panel: 'numbers',
};

export class Store {
  private state = { ...FIRST };
  private readonly watchers: { keys: (keyof State)[]; call: (state: Readonly<State>) => void }[] = [];

  get(): Readonly<State> {
    return this.state;
  }

  set(change: Partial<State>) {
    const before = this.state;
    this.state = { ...before, ...change };
    for (const { keys, call } of [...this.watchers]) if (keys.some((key) => before[key] !== this.state[key])) call(this.state);
  }

  // Calls back when one of the keys changes. Returns a function that stops it.
  watch(keys: (keyof State)[], call: (state: Readonly<State>) => void): () => void {
    const watcher = { keys, call };
    this.watchers.push(watcher);
    return () => void this.watchers.splice(this.watchers.indexOf(watcher), 1);
  }
}
