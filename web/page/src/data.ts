// data.ts: resources by name, from a server or from files next to the page; apart from the key, the page cannot tell.
//
// The key is in the fragment of the printed address, which browsers never send. It is kept for reloads of this tab and
// removed from the address bar, so that it does not end up in bookmarks and screenshots. Links to a view (link.ts) are in
// the fragment too, without the key: a tab that has none asks the others of this address for it.

import type { Show } from './show';

export interface MeshData {
  vertices: number;
  triangles: number;
  positions: Float32Array;
  normals: Float32Array;
  indices: Uint32Array;
}

// A message for the user, from the server or the library.
export class Problem extends Error {}

const KEPT = 'pelt-key';

// "KEY", "subject=arm&frame=3", or both with & between.
export function readFragment(fragment: string): { key: string; link: string } {
  const [first = '', ...rest] = fragment.replace(/^#/, '').split('&');
  return first.includes('=') ? { key: '', link: [first, ...rest].join('&') } : { key: decodeURIComponent(first), link: rest.join('&') };
}

const cleanAddress = () => history.replaceState(null, '', location.pathname + location.search);

function takeFragment(): { key: string; link: string } {
  const { key, link } = readFragment(location.hash);
  if (key) sessionStorage.setItem(KEPT, key);
  if (location.hash) cleanAddress();
  return { key: key || sessionStorage.getItem(KEPT) || '', link };
}

// Calls back with links that are opened in this tab later.
export function onLink(call: (link: string) => void) {
  addEventListener('hashchange', () => {
    const { key, link } = readFragment(location.hash);
    if (key) return location.reload();
    if (!link) return;
    cleanAddress();
    call(link);
  });
}

async function problemOf(answer: Response, name: string): Promise<Problem> {
  const said = await answer.json().catch(() => null);
  if (said?.error?.text) return new Problem(said.error.text);
  if (answer.status === 401 || answer.status === 403) {
    return new Problem('This address has no key, or an old one: open the address that `pelt view` printed.');
  }
  return new Problem(`${name} could not be read (${answer.status} ${answer.statusText}).`);
}

// "%d" in a resource's name stands for the frame; nothing else is replaced.
export const numbered = (name: string, index: number) => name.replace('%d', String(index));

export class Data {
  readonly link: string; // of the address that was opened
  private key: string;
  private readonly tabs = typeof document === 'undefined' ? null : new BroadcastChannel(KEPT);
  private borrowing: Promise<boolean> | null = null;
  private readonly kept = new Map<string, Promise<ArrayBuffer>>();
  private keptBytes = 0;

  constructor() {
    ({ key: this.key, link: this.link } = takeFragment());
    this.tabs?.addEventListener('message', ({ data }) => { if (data === 'which' && this.key) this.tabs!.postMessage({ key: this.key }); });
  }

  // The key of another tab of this address, which only this server's page can ask.
  private borrow(): Promise<boolean> {
    this.borrowing ??= new Promise((done) => {
      const { tabs } = this;
      if (!tabs) return done(false);
      const end = (key: string) => {
        tabs.removeEventListener('message', hear);
        if (key && key !== this.key) sessionStorage.setItem(KEPT, key);
        done(key !== '' && key !== this.key);
        this.key = key || this.key;
      };
      const hear = ({ data }: MessageEvent) => { if (typeof data?.key === 'string') end(data.key); };
      tabs.addEventListener('message', hear);
      tabs.postMessage('which');
      setTimeout(() => end(''), 400);
    });
    return this.borrowing;
  }

  async ask(name: string, options: RequestInit = {}): Promise<Response> {
    const headers = new Headers(options.headers);
    if (this.key) headers.set('X-Pelt-Key', this.key);
    const answer = await fetch(name, { ...options, headers }).catch((problem: unknown) => {
      if (options.signal?.aborted) throw problem;
      throw new Problem('The server does not answer: is `pelt view` still running?');
    });
    if (answer.status === 403 && !this.borrowing && await this.borrow()) return this.ask(name, options);
    if (!answer.ok) throw await problemOf(answer, name);
    return answer;
  }

  async json<T>(name: string): Promise<T> {
    const answer = await this.ask(name);
    return answer.json().catch(() => {
      throw new Problem(`${name} has an unexpected format: the page and the server are different versions.`);
    });
  }

  show(): Promise<Show> {
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
