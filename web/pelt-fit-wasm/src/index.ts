// index.ts: makes skins from examples, in a worker, in browsers and in node.
//
//     const fitter = await Fitter.open({ 'body.glb': glb, 'body.train.pc2': cache });
//     const skin = await fitter.fit(['train'], { method: 'kernel' }, { progress: (task, share) => ... });
//     const { rel_err } = await fitter.measure(skin.bytes, ['walk']);
//     const glb = await fitter.exportPlain(skin.bytes, { clips: ['walk'] });
//
// No byte leaves the machine. Results are the same bytes on every machine, because WebAssembly's arithmetic is.

import { FitError } from './module.js';
import { compile, Workshop, type Running } from './thread.js';
import type { Character, Compared, FitOptions, Finding, FittedSkin, InputFiles, Measured, Opened } from './types.js';
import type { Order } from './worker.js';

export { FitError } from './module.js';
export { Viewer, fitWords } from './viewer.js';
export type { Running } from './thread.js';
export type * from './types.js';

// What is not read piece by piece must leave room to work in.
const MOST_BYTES = 2 * 2 ** 30;

type Input = Extract<Order, { do: 'open' }>['input'];

function inputOf(source: InputFiles | Character): Input {
  if ('parents' in source && source.parents instanceof Int32Array) return { character: source as Character };
  const files = Object.fromEntries(Object.entries(source as InputFiles).map(([name, bytes]) => [name, bytes instanceof ArrayBuffer ? new Uint8Array(bytes) : bytes]));
  const scenes = Object.keys(files).filter((name) => /\.(glb|gltf)$/i.test(name));
  if (scenes.length !== 1) {
    throw new FitError(scenes.length ? `One character at a time: these are ${scenes.join(', ')}.` : 'None of these files is a character (.glb, .gltf).');
  }
  const size = Object.values(files).reduce((sum, bytes) => sum + (bytes instanceof Uint8Array ? bytes.length : bytes.size), 0);
  if (size > MOST_BYTES) {
    throw new FitError(`These files take ${(size / 2 ** 20).toFixed(0)} MB, but a page can work with at most ${MOST_BYTES / 2 ** 20} MB: use fewer examples, or the program pelt.`, 'memory');
  }
  return { files, scene: scenes[0]! };
}

export class Fitter {
  private readonly shop: Workshop<Opened>;
  about!: Opened;

  private constructor(private readonly input: Input, private readonly module: WebAssembly.Module) {
    this.shop = new Workshop<Opened>({ do: 'open', module, input }, (about) => { this.about = about; });
  }

  // Files by name, as they lie beside each other, or arrays. `wasm`: where pelt-fit.wasm is, if not beside this file.
  static open(source: InputFiles | Character, options: { wasm?: string | URL } = {}): Promise<Fitter> {
    return Promise.resolve().then(() => Fitter.start(inputOf(source), options.wasm));
  }

  // A built-in character with the clips "train" and "test": arm, biceps, elbow, box, wrist, humanoid.
  static sample(name: string, { vertices = 0, frames = 0, wasm }: { vertices?: number; frames?: number; wasm?: string | URL } = {}): Promise<Fitter> {
    return Fitter.start({ sample: name, vertices, frames }, wasm);
  }

  private static async start(input: Input, wasm?: string | URL): Promise<Fitter> {
    const fitter = new Fitter(input, await compile(wasm));
    try {
      await fitter.shop.start();
    } catch (problem) {
      fitter.close();
      throw problem;
    }
    return fitter;
  }

  // What looks wrong with the examples.
  diagnose(clips: string[]): Promise<Finding[]> { return this.shop.order({ do: 'diagnose', clips }); }

  // Without a method the best is chosen by cross-validation, within options.budget where there is one.
  fit(clips: string[], options: FitOptions = {}, running: Running = {}): Promise<FittedSkin> {
    return this.shop.order({ do: 'fit', clips, options }, running);
  }

  measure(skin: Uint8Array, clips: string[]): Promise<Measured> { return this.shop.order({ do: 'measure', skin, clips }); }

  // Fits by several methods, a worker for each, as many at a time as `workers` says, and measures each on the same clips.
  async compare(clips: string[], test: string[], methods: FitOptions[], { progress, signal, workers = 2 }: Running & { workers?: number } = {}): Promise<Compared[]> {
    const shares = methods.map(() => 0), done: Compared[] = [], next = methods.entries();
    const work = async () => {
      for (const [i, options] of next) {
        const fitter = new Fitter(this.input, this.module);
        try {
          await fitter.shop.start();
          const skin = await fitter.fit(clips, options, { ...(signal && { signal }), progress: (task, share) => {
            shares[i] = share;
            progress?.(task, shares.reduce((sum, each) => sum + each, 0) / shares.length);
          } });
          done[i] = { options, skin, measured: await fitter.measure(skin.bytes, test) };
          shares[i] = 1;
        } finally {
          fitter.close();
        }
      }
    };
    await Promise.all(Array.from({ length: Math.max(1, Math.min(workers, methods.length)) }, work));
    return done;
  }

  // A .glb that any engine plays; the motion of correctives is baked into these clips.
  exportPlain(skin: Uint8Array, { clips = [], influences = 0 }: { clips?: string[]; influences?: number } = {}): Promise<Uint8Array> {
    return this.shop.order({ do: 'export', skin, clips, influences });
  }

  close(): void { this.shop.close(); }
}
