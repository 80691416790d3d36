// data.ts: resources by name, read as what they are.

import { Problem } from './problem';
import { Served, type Source } from './served';
import type { Show } from './show';

export { Problem } from './problem';
export { onLink, readFragment } from './served';

export interface MeshData {
  vertices: number;
  triangles: number;
  positions: Float32Array;
  normals: Float32Array;
  indices: Uint32Array;
}

// "%d" in a resource's name stands for the frame; nothing else is replaced.
export const numbered = (name: string, index: number) => name.replace('%d', String(index));

export class Data {
  private readonly served = new Served();
  private source: Source = this.served;
  private readonly kept = new Map<string, Promise<ArrayBuffer>>();
  private keptBytes = 0;

  get link() { return this.served.link; }

  ask(name: string, options: RequestInit = {}): Promise<Response> { return this.source.ask(name, options); }

  async json<T>(name: string): Promise<T> {
    const answer = await this.ask(name);
    return answer.json().catch(() => {
      throw new Problem(`${name} has an unexpected format: the page and the server are from different versions of pelt. Reload the page.`);
    });
  }

  // A page with a fitter of its own, or key points to light, asks that module from now on, which adds to what is beside the page.
  async show(): Promise<Show> {
    const show = await this.json<Show>('data/show.json');
    const alone = show.fitter || show.boxes.some((box) => box.kind === 'light' && box.file);
    if (!alone || this.source !== this.served) return show;
    const { Local } = await import('./local/local');
    this.source = new Local(this.served, show);
    return this.json<Show>('data/show.json');
  }

  // Cached while there is room, because clips are played repeatedly.
  bytes(name: string): Promise<ArrayBuffer> {
    const known = this.kept.get(name);
    if (known) {
      this.kept.delete(name);
      this.kept.set(name, known); // most recently used last
      return known;
    }
    const coming = this.ask(name).then((answer) => answer.arrayBuffer());
    this.kept.set(name, coming);
    coming.then((bytes) => this.makeRoom(bytes.byteLength), () => this.kept.delete(name));
    return coming;
  }

  private async makeRoom(more: number) {
    const MOST = 512 * 1024 * 1024;
    this.keptBytes += more;
    while (this.keptBytes > MOST && this.kept.size > 1) {
      const [oldest, bytes] = this.kept.entries().next().value!;
      this.kept.delete(oldest);
      this.keptBytes -= (await bytes.catch(() => null))?.byteLength ?? 0;
    }
  }

  private async words(name: string, count?: number): Promise<ArrayBuffer> {
    const bytes = await this.bytes(name);
    if (bytes.byteLength % 4 || (count !== undefined && bytes.byteLength !== 4 * count)) {
      throw new Problem(`${name} has ${bytes.byteLength} bytes where ${count === undefined ? 'whole numbers' : 4 * count} were expected.`);
    }
    return bytes;
  }

  async floats(name: string, count?: number): Promise<Float32Array> { return new Float32Array(await this.words(name, count)); }

  async integers(name: string, count?: number): Promise<Int32Array> { return new Int32Array(await this.words(name, count)); }

  async mesh(name: string): Promise<MeshData> {
    const bytes = await this.bytes(name);
    const [vertices = 0, triangles = 0] = bytes.byteLength >= 8 ? new Uint32Array(bytes, 0, 2) : [];
    if (bytes.byteLength !== 8 + 24 * vertices + 12 * triangles) throw new Problem(`${name} ends early.`);
    return {
      vertices,
      triangles,
      positions: new Float32Array(bytes, 8, 3 * vertices),
      normals: new Float32Array(bytes, 8 + 12 * vertices, 3 * vertices),
      indices: new Uint32Array(bytes, 8 + 24 * vertices, 3 * triangles),
    };
  }

  async post<T>(name: string, body: BodyInit | object, signal?: AbortSignal): Promise<T> {
    const raw = body instanceof ArrayBuffer || body instanceof Blob || ArrayBuffer.isView(body) || typeof body === 'string';
    const answer = await this.ask(name, {
      method: 'POST',
      body: raw ? body as BodyInit : JSON.stringify(body),
      headers: { 'Content-Type': raw ? 'application/octet-stream' : 'application/json' },
      signal,
    });
    return answer.json();
  }
}
