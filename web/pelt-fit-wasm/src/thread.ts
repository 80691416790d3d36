// thread.ts: a worker that follows orders, one at a time, in browsers and in node. Whoever cancels throws it away: the next order
// starts another.

import { FitError } from './module.js';
import type { Order } from './worker.js';

export interface Running {
  progress?: (task: string, share: number) => void;
  signal?: AbortSignal; // ends the work at once
}

interface Thread { postMessage(message: unknown): void; terminate(): unknown }
interface Heard { number: number; task?: string; share?: number; done?: unknown; problem?: { text: string; kind: FitError['kind']; broken?: boolean } }

const inNode = typeof process !== 'undefined' && !!process.versions?.node;
declare const process: { versions?: { node?: string } } | undefined;

async function startThread(hear: (message: Heard) => void, broke: (why: string) => void): Promise<Thread> {
  if (inNode) {
    const { Worker: NodeWorker } = await import(/* @vite-ignore */ 'node:' + 'worker_threads');
    const worker = new NodeWorker(new URL('./worker' + '.js', import.meta.url));
    worker.on('message', hear).on('error', (error: Error) => broke(error.message)).unref();
    return { postMessage: (message) => { worker.ref(); worker.postMessage(message); }, terminate: () => worker.terminate() };
  }
  const worker = new Worker(new URL('./worker.js', import.meta.url), { type: 'module' });
  worker.addEventListener('message', ({ data }) => hear(data));
  worker.addEventListener('error', (event) => broke(event.message || 'its worker could not be started'));
  return worker;
}

const compiled = new Map<string, Promise<WebAssembly.Module>>();

// The module, compiled once. Browsers without SIMD refuse it: then a sentence says so.
export async function compile(source: string | URL = new URL('./pelt-fit.wasm', import.meta.url)): Promise<WebAssembly.Module> {
  const url = new URL(source, import.meta.url);
  const get = async () => {
    let bytes: ArrayBuffer | Uint8Array;
    if (url.protocol === 'file:' && inNode) {
      const { readFile } = await import(/* @vite-ignore */ 'node:' + 'fs/promises');
      bytes = await readFile(url);
    } else {
      const answer = await fetch(url).catch(() => { throw new FitError('The fitter could not be loaded. Offline, it works only if this page was opened here before.'); });
      if (!answer.ok) throw new FitError(`The fitter could not be loaded (${answer.status} ${answer.statusText}).`);
      bytes = await answer.arrayBuffer();
    }
    return WebAssembly.compile(bytes as BufferSource).catch(() => {
      throw new FitError('This browser cannot run the fitter: it lacks WebAssembly with SIMD, which browsers have had since 2021 (Safari 16.4).');
    });
  };
  const known = compiled.get(url.href) ?? get();
  compiled.set(url.href, known);
  known.catch(() => compiled.delete(url.href));
  return known;
}

type Opening = Extract<Order, { do: 'open' | 'view' }>;

export class Workshop<Opened> {
  private thread: Promise<Thread> | null = null;
  private number = 0;
  private last: Promise<unknown> = Promise.resolve(); // orders wait for each other
  private waiting: { number: number; told?: Running['progress']; done: (value: never) => void; failed: (why: unknown) => void } | null = null;

  private begun = false;

  // `opening` is what a new worker is told first; `opened` gets its answer. `lost` says what is lost with a worker that knows more
  // than that, so that none takes its place.
  constructor(private readonly opening: Opening, private readonly opened: (answer: Opened) => void, private readonly lost: string | null = null) {}

  // Resolves when the worker has opened what it was given.
  start(): Promise<unknown> { return this.queue(() => this.ready()); }

  close(): void { this.stop(new FitError('The fitter was closed.', 'cancelled')); }

  order<T>(order: Order, { progress, signal }: Running = {}): Promise<T> {
    return this.queue(async () => {
      const cancelled = () => new FitError('The fit was cancelled.', 'cancelled');
      if (signal?.aborted) throw cancelled();
      const abort = () => this.stop(cancelled());
      signal?.addEventListener('abort', abort);
      try {
        return await this.send<T>(await this.ready(), order, progress);
      } finally {
        signal?.removeEventListener('abort', abort);
      }
    });
  }

  private stop(why: FitError) {
    const { thread, waiting } = this;
    this.thread = this.waiting = null;
    void thread?.then((each) => each.terminate(), () => undefined);
    waiting?.failed(why);
  }

  private hear(message: Heard) {
    const { waiting } = this;
    if (!waiting || message.number !== waiting.number) return;
    if (message.task !== undefined) {
      waiting.told?.(message.task, message.share!);
      return;
    }
    if (message.problem?.broken) return this.stop(new FitError(message.problem.text, message.problem.kind)); // a new worker next time
    this.waiting = null;
    if (message.problem) waiting.failed(new FitError(message.problem.text, message.problem.kind));
    else waiting.done(message.done as never);
  }

  private send<T>(thread: Thread, order: Order, told?: Running['progress']): Promise<T> {
    return new Promise<T>((done, failed) => {
      this.waiting = { number: ++this.number, ...(told && { told }), done: done as (value: never) => void, failed };
      thread.postMessage({ number: this.number, order });
    });
  }

  private async ready(): Promise<Thread> {
    if (this.thread) return this.thread;
    if (this.begun && this.lost) throw new FitError(this.lost);
    this.begun = true;
    const starting = startThread((message) => this.hear(message), (why) => this.stop(new FitError(`The fitter stopped unexpectedly (${why}).`)));
    this.thread = starting;
    const thread = await starting;
    this.opened(await this.send<Opened>(thread, this.opening));
    return thread;
  }

  private queue<T>(work: () => Promise<T>): Promise<T> {
    const result = this.last.then(work, work);
    this.last = result.catch(() => undefined);
    return result;
  }
}
