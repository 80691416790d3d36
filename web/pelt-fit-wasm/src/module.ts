// module.ts: the module itself, on the calling thread: worker.ts keeps it off the page's.

import { Files } from './files.js';
import type { Character, Clip, FitOptions, Finding, Lamp, Measured, Opened } from './types.js';

// A sentence for people, by the library.
export class FitError extends Error {
  constructor(message: string, readonly kind: 'failed' | 'cancelled' | 'memory' = 'failed') { super(message); }
}

// Thrown by the module to leave a stage of its work; `out` says which.
class Escape {
  constructor(readonly out: number) {}
}

const CANCELLED = 'stopped on request';
const NO_MEMORY = 'This page ran out of memory (it can have 4 GB at most): use fewer examples, a smaller mesh, or the program pelt.';

type Call = (...words: number[]) => number;

export class FitModule {
  private constructor(private readonly calls: Record<string, Call>, private readonly memory: WebAssembly.Memory, readonly files: Files,
    private readonly watch: { told: (task: string, share: number) => boolean }) {}

  static async load(module: WebAssembly.Module): Promise<FitModule> {
    const files = new Files(), watch = { told: (_task: string, _share: number) => false };
    let memory: WebAssembly.Memory, table: WebAssembly.Table, stack: WebAssembly.Global;
    const pelt = {
      call: (body: number, user: number, out: number): number => {
        const before = stack.value as number;
        try {
          (table.get(body) as (user: number) => void)(user);
          return 0;
        } catch (thrown) {
          if (!(thrown instanceof Escape) || thrown.out !== out) throw thrown;
          stack.value = before;
          return 1;
        }
      },
      duplicate: (descriptor: number) => files.duplicate(descriptor),
      escape: (out: number) => { throw new Escape(out); },
      step: (task: number, share: number): number => Number(watch.told(task ? textAt(memory, task) : '', share)),
    };
    const instance = await WebAssembly.instantiate(module, { pelt, wasi_snapshot_preview1: files.calls() });
    const exports = instance.exports as Record<string, unknown>;
    memory = exports['memory'] as WebAssembly.Memory;
    table = exports['__indirect_function_table'] as WebAssembly.Table;
    stack = exports['__stack_pointer'] as WebAssembly.Global;
    files.attach(memory);
    (exports['_initialize'] as () => void)();
    return new FitModule(exports as Record<string, Call>, memory, files, watch);
  }

  get memoryBytes() { return this.memory.buffer.byteLength; }

  onStep(told: (task: string, share: number) => boolean) { this.watch.told = told; }

  // -- Calls: texts and arrays are there as long as the call lasts.

  private with<T>(parts: (string | ArrayBufferView | null)[], use: (...at: number[]) => T): T {
    const taken: number[] = [];
    try {
      const at = parts.map((part) => {
        if (part === null) return 0;
        const bytes = typeof part === 'string' ? new TextEncoder().encode(`${part}\0`) : new Uint8Array(part.buffer, part.byteOffset, part.byteLength);
        const address = this.calls['take']!(bytes.length) >>> 0;
        if (!address) throw new FitError(NO_MEMORY, 'memory');
        taken.push(address);
        new Uint8Array(this.memory.buffer, address, bytes.length).set(bytes);
        return address;
      });
      return use(...at);
    } finally {
      for (const address of taken) this.calls['give']!(address);
    }
  }

  private good(result: number): number {
    if (result) return result >>> 0;
    const text = textAt(this.memory, this.calls['problem']!());
    if (text.includes(CANCELLED)) throw new FitError(text, 'cancelled');
    if (text === 'not enough memory') throw new FitError(NO_MEMORY, 'memory');
    throw new FitError(text);
  }

  private json<T>(result: number): T { return JSON.parse(textAt(this.memory, this.good(result))) as T; }

  // -- Characters

  read(path: string): number { return this.with([path], (at) => this.good(this.calls['bundle_read']!(at!))); }

  sample(name: string, path: string, vertices = 0, frames = 0): void {
    this.with([name, path], (at, to) => this.good(this.calls['bundle_sample']!(at!, vertices, frames, to!)));
  }

  create(c: Character): number {
    const names = c.jointNames ? c.jointNames.join('\n') : null;
    const arrays = [c.positions, c.triangles, c.joints ?? null, c.weights ?? null, c.parents, c.rest, c.normals ?? null, c.uvs ?? null];
    const vertices = c.positions.length / 3;
    const bundle = this.with([c.name ?? 'character', names, ...arrays], (name, jointNames, ...at) => {
      const words = Uint32Array.of(vertices, c.triangles.length / 3, c.parents.length, c.joints ? c.joints.length / vertices : 0, ...at);
      return this.with([words], (list) => this.good(this.calls['bundle_new']!(name!, list!, jointNames!)));
    });
    for (const clip of c.clips) this.addClip(bundle, clip, c.parents.length);
    return bundle;
  }

  private addClip(bundle: number, clip: Clip, joints: number): void {
    this.with([clip.name, clip.poses, clip.positions ?? null], (name, poses, positions) =>
      this.good(this.calls['bundle_add_clip']!(bundle, name!, clip.poses.length / (10 * joints), poses!, positions!)));
  }

  about(bundle: number): Opened { return this.json<Opened>(this.calls['bundle_about']!(bundle)); }
  free(bundle: number): void { this.calls['bundle_free']!(bundle); }

  diagnose(bundle: number, clips: string[]): Finding[] {
    return this.with([clips.join('\n')], (names) => this.json<Finding[]>(this.calls['diagnose']!(bundle, names!)));
  }

  // -- Skins

  fit(bundle: number, clips: string[], options: FitOptions): Uint8Array {
    const { budget, method, blend, corrective, ...others } = options;
    const first = Object.entries({ method, blend, corrective }).filter(([, value]) => value !== undefined);
    const spelled = Object.entries(others).map(([name, value]) => [name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`), value]);
    const lines = [...first, ...spelled].map(([name, value]) => `${name}=${value}`).join('\n');
    const limit = budget ?? (method === undefined && blend === undefined && corrective === undefined ? '' : null);
    return this.with([clips.join('\n'), lines, limit], (names, at, most) => this.taken(this.calls['fit']!(bundle, names!, at!, most!)));
  }

  // By the words of `pelt fit`.
  fitWords(path: string, words: string[]): Uint8Array {
    if (words.length > 200 || words.some((word) => /[\n\0]/.test(word))) throw new FitError('These are not options of pelt fit.');
    return this.with([path, words.join('\n')], (at, lines) => this.taken(this.calls['fit_words']!(at!, lines!)));
  }

  // A skin as the library returns it.
  private taken(result: number): Uint8Array {
    const skin = this.good(result);
    const from = this.calls['bytes_at']!(skin) >>> 0, size = this.calls['bytes_size']!(skin) >>> 0;
    const bytes = new Uint8Array(this.memory.buffer).slice(from, from + size);
    this.calls['bytes_free']!(skin);
    return bytes;
  }

  aboutSkin(skin: Uint8Array): unknown {
    return this.with([skin], (at) => this.json(this.calls['skin_about']!(at!, skin.length)));
  }

  measure(skin: Uint8Array, bundle: number, clips: string[]): Measured {
    return this.with([skin, clips.join('\n')], (at, names) => this.json<Measured>(this.calls['measure']!(at!, skin.length, bundle, names!)));
  }

  exportPlain(skin: Uint8Array, bundle: number, clips: string[], influences: number, path: string): Uint8Array {
    this.with([skin, clips.join('\n'), path], (at, names, to) =>
      this.good(this.calls['export_plain']!(at!, skin.length, bundle, names!, influences, to!)));
    const bytes = this.files.get(path)!.slice();
    this.files.remove(path);
    return bytes;
  }

  // -- What a page shows

  newView(): number { return this.good(this.calls['view_new']!()); }
  addToView(view: number, path: string): void { this.with([path], (at) => this.good(this.calls['view_add']!(view, at!))); }
  arrangeView(view: number): void { this.good(this.calls['view_arrange']!(view)); }
  characters(view: number): number { return this.calls['view_characters']!(view); }
  sampleToView(view: number, name: string, folder: string): void { this.with([name, folder], (at, to) => this.good(this.calls['view_sample']!(view, at!, to!))); }
  fixInView(view: number, character: number): number { return this.good(this.calls['view_fix']!(view, character)) - 1; }

  addSkin(view: number, character: number, name: string, skin: Uint8Array): number {
    return this.with([name, skin], (called, at) => this.good(this.calls['view_add_skin']!(view, character, called!, at!, skin.length))) - 1;
  }

  listSkin(view: number, character: number, skin: number, listed: boolean): void { this.good(this.calls['view_list_skin']!(view, character, skin, Number(listed))); }
  boxes(view: number): number { return this.calls['view_boxes']!(view) >>> 0; }
  light(view: number, { box, at, full, samples = 0, paths = 0 }: Lamp): Uint8Array {
    return this.made(this.calls['view_light']!(view, box, at[0]!, at[1]!, at[2]!, Number(full), samples, paths));
  }

  pathOf(view: number, character: number): string { return textAt(this.memory, this.good(this.calls['view_path']!(view, character))); }

  resource(view: number, name: string): Uint8Array {
    return this.with([name], (at) => this.made(this.calls['view_resource']!(view, at!)));
  }

  private made(resource: number): Uint8Array {
    const from = this.good(resource);
    return new Uint8Array(this.memory.buffer).slice(from, from + (this.calls['view_resource_size']!() >>> 0));
  }
}

function textAt(memory: WebAssembly.Memory, at: number): string {
  const bytes = new Uint8Array(memory.buffer, at >>> 0);
  return new TextDecoder().decode(bytes.slice(0, bytes.indexOf(0)));
}
