// limits.ts: what a page can work with. A module of WebAssembly has at most 4 GB;
// what a fit needs of that, the library knows, and says so before it begins.

import { Problem } from '../problem';

const MOST_BYTES = 2 * 2 ** 30;

// Before any file is read.
export function tooLarge(bytes: number): void {
  if (bytes <= MOST_BYTES) return;
  throw new Problem(`These files take ${(bytes / 2 ** 20).toFixed(0)} MB, but a page can work with at most ${MOST_BYTES / 2 ** 20} MB: use fewer examples, or the program pelt.`);
}

export const HEAVY = 64 * 2 ** 20; // bytes of a character's files: fits of it one after another

// A worker for each fit, but the page and the system want a processor too.
export const fitsAtOnce = () => Math.max(1, Math.min(4, (navigator.hardwareConcurrency || 2) - 1));

// Work that waits until there is a place for it.
export class Line {
  private running = 0;
  private readonly waiting: (() => void)[] = [];
  constructor(private readonly places: number) {}

  async add(work: () => Promise<void>): Promise<void> {
    if (this.running === this.places) await new Promise<void>((go) => { this.waiting.push(go); });
    this.running++;
    await work().finally(() => {
      this.running--;
      this.waiting.shift()?.();
    });
  }
}
