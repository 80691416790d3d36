// worker.ts: the fitter on a thread of its own, in browsers and in node. One order at a time; what belongs to an order has its
// number.

import { canReadBlobs } from './files.js';
import { FitError, FitModule } from './module.js';
import type { Added, Character, FitOptions, Lamp, NamedFile } from './types.js';

export type Order =
  | { do: 'open'; module: WebAssembly.Module; input: { files: Record<string, Uint8Array | Blob>; scene: string } | { character: Character } | { sample: string; vertices: number; frames: number } }
  | { do: 'diagnose'; clips: string[] }
  | { do: 'fit'; clips: string[]; options: FitOptions }
  | { do: 'measure'; skin: Uint8Array; clips: string[] }
  | { do: 'export'; skin: Uint8Array; clips: string[]; influences: number }
  | { do: 'view'; module: WebAssembly.Module; files: NamedFile[] }
  | { do: 'view.add'; files: NamedFile[]; open: string[] }
  | { do: 'view.sample'; name: string; folder: string }
  | { do: 'view.fix'; character: number }
  | { do: 'view.skin'; character: number; name: string; skin: Uint8Array }
  | { do: 'view.list'; character: number; skin: number; listed: boolean }
  | { do: 'view.resource'; name: string }
  | { do: 'view.light'; lamp: Lamp }
  | { do: 'view.path'; character: number }
  | { do: 'view.plain'; character: number; skin: number }
  | { do: 'words'; path: string; words: string[] };

interface Port { postMessage(message: unknown): void }

let fitter: FitModule, bundle = 0, view = 0;

// Where blobs cannot be read piece by piece they are read now.
async function put(path: string, bytes: Uint8Array | Blob) {
  fitter.files.put(path, bytes instanceof Uint8Array || canReadBlobs() ? bytes : new Uint8Array(await bytes.arrayBuffer()));
}

async function open(order: Extract<Order, { do: 'open' }>) {
  fitter = await FitModule.load(order.module);
  const { input } = order;
  if ('character' in input) bundle = fitter.create(input.character);
  if ('files' in input) {
    for (const [name, bytes] of Object.entries(input.files)) await put(name, bytes);
    bundle = fitter.read(input.scene);
  }
  if ('sample' in input) {
    fitter.sample(input.sample, `${input.sample}.glb`, input.vertices, input.frames);
    bundle = fitter.read(`${input.sample}.glb`);
  }
  return fitter.about(bundle);
}

// Adds files to what is shown.
async function add(order: Extract<Order, { do: 'view.add' }>): Promise<Added> {
  const characters = fitter.characters(view), boxes = fitter.boxes(view);
  for (const { path, bytes } of order.files) await put(path, bytes);
  try {
    for (const path of order.open) fitter.addToView(view, path);
  } finally {
    fitter.arrangeView(view);
  }
  return { character: fitter.characters(view) > characters ? characters : null, box: fitter.boxes(view) > boxes ? boxes : null };
}

function sample(name: string, folder: string) {
  const character = fitter.characters(view);
  fitter.sampleToView(view, name, folder);
  const files = fitter.files.names().filter((path) => path.startsWith(`${folder}/`)).map((path) => ({ path, bytes: fitter.files.get(path)! }));
  return { character, files };
}

// All clips of the character, as the file has them.
function plain(character: number, skin: number): Uint8Array {
  const read = fitter.read(fitter.pathOf(view, character));
  try {
    const clips = fitter.about(read).clips.map(({ name }) => name);
    return fitter.exportPlain(fitter.resource(view, `data/c${character}/skin${skin}.pelt`), read, clips, 0, 'plain.glb');
  } finally {
    fitter.free(read);
  }
}

async function obeyView(order: Order): Promise<unknown> {
  switch (order.do) {
    case 'view':
      fitter = await FitModule.load(order.module);
      for (const { path, bytes } of order.files) await put(path, bytes);
      view = fitter.newView();
      return null;
    case 'view.add': return add(order);
    case 'view.sample': return sample(order.name, order.folder);
    case 'view.fix': return fitter.fixInView(view, order.character);
    case 'view.skin': return fitter.addSkin(view, order.character, order.name, order.skin);
    case 'view.list': return fitter.listSkin(view, order.character, order.skin, order.listed);
    case 'view.resource': return fitter.resource(view, order.name);
    case 'view.light': return fitter.light(view, order.lamp);
    case 'view.path': return fitter.pathOf(view, order.character);
    case 'view.plain': return plain(order.character, order.skin);
    case 'words': return fitter.fitWords(order.path, order.words);
    default: return undefined;
  }
}

async function obey(order: Order): Promise<unknown> {
  switch (order.do) {
    case 'open': return open(order);
    case 'diagnose': return fitter.diagnose(bundle, order.clips);
    case 'measure': return fitter.measure(order.skin, bundle, order.clips);
    case 'export': return fitter.exportPlain(order.skin, bundle, order.clips, order.influences, 'plain.glb');
    case 'fit': {
      const bytes = fitter.fit(bundle, order.clips, order.options);
      return { bytes, about: fitter.aboutSkin(bytes), memory: fitter.memoryBytes };
    }
    default: return obeyView(order);
  }
}

// A trap of the module is a want of memory as a rule: its stack, or what grows beyond all.
function problem(thrown: unknown) {
  if (thrown instanceof FitError) return { text: thrown.message, kind: thrown.kind };
  const what = thrown instanceof Error ? thrown.message : String(thrown);
  return { text: `The fitter stopped unexpectedly (${what}): this tab may not have enough memory for this character.`, kind: 'failed', broken: true };
}

function serve(port: Port, listen: (hear: (data: { number: number; order: Order }) => void) => void) {
  listen(async ({ number, order }) => {
    let told = 0;
    try {
      if (fitter) fitter.onStep((task, share) => {
        const now = performance.now();
        if (now - told > 50) port.postMessage({ number, task, share }), told = now;
        return false;
      });
      port.postMessage({ number, done: await obey(order) });
    } catch (thrown) {
      port.postMessage({ number, problem: problem(thrown) });
    }
  });
}

if (typeof self !== 'undefined' && typeof (self as unknown as { importScripts?: unknown }).importScripts === 'function') {
  serve(self as unknown as Port, (hear) => addEventListener('message', ({ data }) => hear(data)));
} else {
  const { parentPort } = await import(/* @vite-ignore */ 'node:' + 'worker_threads');
  serve(parentPort, (hear) => parentPort.on('message', hear));
}
