// viewer.ts: what `pelt view` serves, without a server: files go in, resources by name come out, as docs/howto-view.md lists them.
// A fit has a worker of its own, so that one can look on meanwhile.

import { compile, Workshop, type Running } from './thread.js';
import type { Added, Lamp, NamedFile } from './types.js';

const LOST = 'The fitter stopped unexpectedly, and what was open is lost: reload the page. Finished skins are kept.';

export class Viewer {
  private constructor(private readonly shop: Workshop<null>) {}

  static async start(wasm?: string | URL): Promise<Viewer> {
    const shop = new Workshop<null>({ do: 'view', module: await compile(wasm), files: [] }, () => undefined, LOST);
    await shop.start();
    return new Viewer(shop);
  }

  // `open` are the paths of bundles, skins and key points of light among the files.
  add(files: NamedFile[], open: string[]): Promise<Added> { return this.shop.order({ do: 'view.add', files, open }); }

  // A built-in character, and the files it was written to.
  sample(name: string, folder: string): Promise<{ character: number; files: NamedFile[] }> { return this.shop.order({ do: 'view.sample', name, folder }); }

  // The character once more, with its caches mended; its index.
  fix(character: number): Promise<number> { return this.shop.order({ do: 'view.fix', character }); }

  addSkin(character: number, name: string, skin: Uint8Array): Promise<number> { return this.shop.order({ do: 'view.skin', character, name, skin }); }
  listSkin(character: number, skin: number, listed: boolean): Promise<void> { return this.shop.order({ do: 'view.list', character, skin, listed }); }
  resource(name: string): Promise<Uint8Array> { return this.shop.order({ do: 'view.resource', name }); }
  // A box with its light elsewhere: what `api/light` of the server answers.
  light(lamp: Lamp): Promise<Uint8Array> { return this.shop.order({ do: 'view.light', lamp }); }
  pathOf(character: number): Promise<string> { return this.shop.order({ do: 'view.path', character }); }

  // The character with one of its skins as plain glTF, with all of its clips.
  plain(character: number, skin: number): Promise<Uint8Array> { return this.shop.order({ do: 'view.plain', character, skin }); }

  close(): void { this.shop.close(); }
}

// Fits by the words of `pelt fit`, in a new worker that has these files and ends with the fit.
export async function fitWords(files: NamedFile[], path: string, words: string[], running: Running = {}, wasm?: string | URL): Promise<Uint8Array> {
  const shop = new Workshop<null>({ do: 'view', module: await compile(wasm), files }, () => undefined);
  try {
    return await shop.order<Uint8Array>({ do: 'words', path, words }, running);
  } finally {
    shop.close();
  }
}
