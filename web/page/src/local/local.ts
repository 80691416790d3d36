// local.ts: answers the page's requests without a server: files of the user's, fits and light go to workers of pelt-fit-wasm, which
// are loaded when they are first wanted. No byte leaves the machine.
//
// Characters and boxes that were exported with the page come first, as files beside it; those of this machine are numbered after
// them.

import { fitWords, Viewer, type Added, type Lamp, type NamedFile } from 'pelt-fit-wasm';
import type { Job } from '../jobs';
import type { Show } from '../show';
import { Problem } from '../problem';
import type { Source } from '../served';
import { allKept, keep } from './kept';
import { fitsAtOnce, HEAVY, Line, tooLarge } from './limits';

interface Work extends Job { job: number; stop: AbortController }

const MOST_JOBS = 8;
const SCENE = /\.(glb|gltf)$/i, OPENED = [/\.glb$/i, /\.gltf$/i, /\.pelt$/i, /\.keys$/i];

// Paths that stay in their folder.
const isPlain = (path: string) => path !== '' && path.length <= 400 && !/[\0-\x1f\x7f\\]/.test(path) && path.split('/').every((part) => part !== '' && !part.startsWith('.'));

// Files have the names they came with.
const plainNames = (text: string) => text.replace(/\bdrop\d+\//g, '');
const said = (thrown: unknown) => plainNames(thrown instanceof Error ? thrown.message : String(thrown));

export class Local implements Source {
  private viewer: Promise<Viewer> | null = null;
  private readonly drops = new Map<string, NamedFile[]>(); // unfinished, by the page's name for them
  private readonly folders = new Map<string, NamedFile[]>(); // whatever is open, by folder
  private readonly samples = new Map<string, number>();
  private readonly work = new Map<number, Work>();
  private readonly line = new Line(fitsAtOnce());
  private readonly one = new Line(1);
  private folder = 0;
  private readonly lamps = new Map<number, Promise<Viewer>>(); // of boxes beside the page, each with a worker of its own
  private counts = { characters: 0, skins: 0, boxes: 0 };
  private readonly first: number; // index of the first character of this machine
  private readonly firstBox: number;

  constructor(private readonly beside: Source, private readonly exported: Show) {
    this.first = exported.characters.length;
    this.firstBox = exported.boxes.length;
    this.counts = { characters: this.first, skins: exported.characters.reduce((sum, { skins }) => sum + skins.length, 0), boxes: this.firstBox };
    addEventListener('beforeunload', (event) => { if ([...this.work.values()].some(({ state }) => state === 'running')) event.preventDefault(); });
  }

  async ask(name: string, options: RequestInit = {}): Promise<Response> {
    try {
      return await this.answer(name, options);
    } catch (thrown) {
      if (thrown instanceof Problem || !(thrown instanceof Error)) throw thrown;
      throw new Problem(said(thrown));
    }
  }

  private async answer(name: string, options: RequestInit): Promise<Response> {
    const { pathname, searchParams } = new URL(name, 'http://page/');
    const body = () => JSON.parse(String(options.body ?? '{}')) as Record<string, unknown>;
    const [, kind, what = '', more = ''] = pathname.split('/');
    if (kind === 'data') return this.resource(name);
    if (what === 'bundle') return Response.json(await this.take(searchParams, options.body as Blob));
    if (what === 'sample') return Response.json(await this.sample(String(body().sample)));
    if (what === 'fix') return Response.json({ character: await this.fix(Number(body().character)) });
    if (what === 'light') return new Response(await this.light(body() as unknown as Lamp) as BufferSource);
    if (what === 'fit') return Response.json({ job: this.begin(body()) });
    if (what === 'job') return Response.json(this.follow(Number(more), options.method === 'DELETE'));
    if (what === 'skin') return Response.json(await this.list(body()));
    throw new Problem(`${name}: this page has no server; pelt view has.`);
  }

  private start(): Promise<Viewer> {
    this.viewer ??= Viewer.start();
    this.viewer.catch(() => { this.viewer = null; });
    return this.viewer;
  }

  // -- Resources

  private async resource(name: string): Promise<Response> {
    if (name === 'data/show.json') return Response.json(await this.show());
    if (name === 'data/counts.json') return Response.json(this.counts);
    const [, box, made] = /^data\/b(\d+)\/(.+)$/.exec(name) ?? [];
    if (Number(box) >= this.firstBox) return new Response(await (await this.start()).resource(`data/b${Number(box) - this.firstBox}/${made}`) as BufferSource);
    const [, index, rest] = /^data\/c(\d+)\/(.+)$/.exec(name) ?? [];
    if (index === undefined || Number(index) < this.first) return this.beside.ask(name);
    const viewer = await this.start(), character = Number(index) - this.first;
    const plain = /^skin(\d+)\/plain\.glb$/.exec(rest!);
    const bytes = plain ? await viewer.plain(character, Number(plain[1])) : await viewer.resource(`data/c${character}/${rest}`);
    return new Response(rest === 'diagnosis.json' ? plainNames(new TextDecoder().decode(bytes)) : bytes as BufferSource);
  }

  private async show(): Promise<Show> {
    const own: Show | null = this.viewer ? JSON.parse(this.renumbered(await (await this.viewer).resource('data/show.json'))) : null;
    const characters = [...this.exported.characters.map((character) => ({ ...character, file: null })), ...own?.characters ?? []];
    const boxes = [...this.exported.boxes, ...(own?.boxes ?? []).map((box) => ({ ...box, file: undefined }))];
    for (const { skins } of own?.characters ?? []) for (const skin of skins) skin.plain = skin.file.replace('.pelt', '/plain.glb');
    this.counts = { boxes: boxes.length, characters: characters.length, skins: characters.reduce((sum, { skins }) => sum + skins.length, 0) };
    const fitter = this.exported.fitter === true;
    return { ...this.exported, server: true, local: true, can: { fit: fitter, light: true, sample: fitter }, characters, boxes };
  }

  private renumbered(json: Uint8Array): string {
    return new TextDecoder().decode(json).replace(/"data\/([cb])(\d+)\//g, (_, kind, index) => `"data/${kind}${Number(index) + (kind === 'c' ? this.first : this.firstBox)}/`);
  }

  // -- Files

  private newFolder() { return `drop${++this.folder}`; }

  private async take(words: URLSearchParams, file: Blob): Promise<object> {
    const drop = words.get('drop') ?? '', name = words.get('name') ?? '';
    if (!isPlain(name)) throw new Problem(`${name}: expected the name of a file, or its path in the folder that was dropped.`);
    const files = this.drops.get(drop) ?? [];
    this.drops.set(drop, [...files, { path: name, bytes: file }]);
    if (!words.has('open')) return { file: name };
    const all = this.drops.get(drop)!;
    this.drops.delete(drop);
    return this.open(all);
  }

  // The page's indices of what is new.
  private async open(files: NamedFile[]): Promise<Added> {
    tooLarge(files.reduce((sum, { bytes }) => sum + (bytes as Blob).size, 0));
    const folder = this.newFolder();
    const within = files.map(({ path, bytes }) => ({ path: `${folder}/${path}`, bytes }));
    const opened = OPENED.flatMap((ending) => within.filter(({ path }) => ending.test(path)).map(({ path }) => path));
    if (!opened.length) throw new Problem('None of these files is a character (.glb, .gltf), a skin (.pelt) or key points of light (.keys).');
    const { character, box } = await (await this.start()).add(within, opened);
    if (opened.some((path) => SCENE.test(path))) this.folders.set(folder, within);
    if (character !== null) await this.remember(character);
    return { character: character === null ? null : character + this.first, box: box === null ? null : box + this.firstBox };
  }

  // -- Light

  private async light(lamp: Lamp): Promise<Uint8Array> {
    if (lamp.box >= this.firstBox) return (await this.start()).light({ ...lamp, box: lamp.box - this.firstBox });
    const viewer = this.lamps.get(lamp.box) ?? this.beginLamp(lamp.box);
    this.lamps.set(lamp.box, viewer);
    viewer.catch(() => this.lamps.delete(lamp.box));
    return (await viewer).light({ ...lamp, box: 0 });
  }

  private async beginLamp(index: number): Promise<Viewer> {
    const box = this.exported.boxes[index];
    if (box?.kind !== 'light' || !box.file) throw new Problem('Moving this light needs the program: pelt view.');
    const bytes = new Uint8Array(await (await this.beside.ask(box.file)).arrayBuffer()), path = `${box.name}.keys`;
    const viewer = await Viewer.start();
    await viewer.add([{ path, bytes }], [path]);
    return viewer;
  }

  private async sample(name: string): Promise<object> {
    if (!this.samples.has(name)) {
      const folder = this.newFolder();
      const { character, files } = await (await this.start()).sample(name, folder);
      this.folders.set(folder, files);
      this.samples.set(name, character + this.first);
      await this.remember(character);
    }
    return { character: this.samples.get(name)! };
  }

  private async fix(character: number): Promise<number> { return this.first + await (await this.start()).fix(character - this.first); }

  // Skins that were finished here before, for the same mesh, are there again.
  private async remember(character: number): Promise<void> {
    const viewer = await this.start();
    const path = await viewer.pathOf(character).catch(() => null);
    const names = new Set<string>();
    for (const { file, name, bytes } of (await allKept()).reverse()) { // the latest of each name
      if (file !== path?.split('/').slice(1).join('/') || names.has(name)) continue;
      if (await viewer.addSkin(character, name, bytes).then(() => true, () => false)) names.add(name); // the mesh is another
    }
  }

  // -- Fits

  private begin(order: Record<string, unknown>): number {
    const words = order.words, character = Number(order.character);
    if (!Array.isArray(words) || !words.every((word) => typeof word === 'string') || !(character >= this.first)) throw new Problem('Drop the files of this character here to fit it.');
    const waiting = [...this.work.values()].filter(({ state }) => state === 'running').length;
    if (waiting >= MOST_JOBS) throw new Problem(`${MOST_JOBS} fits are waiting already; cancel one, or wait.`);
    const work: Work = { job: this.work.size + 1, state: 'running', share: 0, text: waiting ? 'waiting' : 'starting', character, skin: null, error: null, stop: new AbortController() };
    this.work.set(work.job, work);
    const name = typeof order.name === 'string' && order.name ? order.name.slice(0, 200) : 'fitted';
    void (this.isHeavy() ? this.one : this.line).add(() => this.fit(work, words, name));
    return work.job;
  }

  // Several fits at once would not have the memory.
  private isHeavy(): boolean {
    const sizes = [...this.folders.values()].map((files) => files.reduce((sum, { bytes }) => sum + (bytes instanceof Uint8Array ? bytes.length : bytes.size), 0));
    return Math.max(0, ...sizes) > HEAVY;
  }

  private async fit(work: Work, words: string[], name: string): Promise<void> {
    const { signal } = work.stop;
    try {
      if (signal.aborted) throw new Problem('cancelled');
      const viewer = await this.start(), character = work.character! - this.first;
      const path = await viewer.pathOf(character);
      const files = this.folders.get(path.split('/')[0]!) ?? [];
      const skin = await fitWords(files, path, words, { signal, progress: (text, share) => Object.assign(work, { text, share: Math.min(Math.max(share, 0), 1) }) });
      await keep(path.split('/').slice(1).join('/'), name, skin); // before it is shown: a tab may be closed at any time
      work.skin = await viewer.addSkin(character, name, skin);
      Object.assign(work, { state: 'done', share: 1 });
    } catch (thrown) {
      if (signal.aborted) work.state = 'cancelled';
      else Object.assign(work, { state: 'failed', error: { text: said(thrown) } });
    }
  }

  private follow(number: number, cancel: boolean): object {
    const work = this.work.get(number);
    if (!work) throw new Problem('There is no such job.');
    if (cancel && work.state === 'running') work.stop.abort();
    const { stop: _, ...told } = work;
    return told;
  }

  private async list({ character, skin, listed }: Record<string, unknown>): Promise<object> {
    if (Number(character) < this.first) throw new Problem('This skin came with the page and cannot be removed.');
    await (await this.start()).listSkin(Number(character) - this.first, Number(skin), listed === true);
    return { character, skin, listed };
  }
}
