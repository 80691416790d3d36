// session.ts: what is open, and how changes reach the picture.
//
// subject -> mesh -> clip and frame -> pose -> deformation -> picture. Resources arrive asynchronously: each step
// checks that it is still current before it continues.

import { NoColorSpace, RepeatWrapping, MirroredRepeatWrapping, ClampToEdgeWrapping, Texture, Vector3 } from 'three';
import { loadPelt } from 'pelt-wasm';
import type { App, Events, Subject } from './app';
import type { Clip, Errors, Figures, Measure, Show, Skin, Surface, Verdicts, Wrap } from './show';
import { Data, Problem, numbered } from './data';
import { el } from './dom';
import { Emitter } from './events';
import { Engine } from './engine';
import { History } from './history';
import { commonScale } from './heat';
import { FLOATS, Pose, restOf } from './pose';
import { Stage, type Textures } from './stage';
import { Store } from './store';
import { smoothNormals, shadedAsOne } from './normals';
import { actOn } from './undo';

const WRAPPING: Record<Wrap, typeof RepeatWrapping | typeof MirroredRepeatWrapping | typeof ClampToEdgeWrapping> =
  { repeat: RepeatWrapping, mirror: MirroredRepeatWrapping, clamp: ClampToEdgeWrapping };

function textureOf(bitmap: ImageBitmap, wrap: Wrap[]): Texture {
  const texture = new Texture(bitmap);
  texture.flipY = false;
  texture.colorSpace = NoColorSpace; // the surface's shader decodes it
  texture.generateMipmaps = true;
  texture.anisotropy = 8;
  [texture.wrapS, texture.wrapT] = wrap.map((one) => WRAPPING[one]) as [typeof RepeatWrapping, typeof RepeatWrapping];
  texture.needsUpdate = true;
  return texture;
}

export const FACE_RESULTS = ['soft cache', 'key points alone', 'rig'] as const; // by the index of the chosen skin

export interface Message { sentence: string; kind: 'note' | 'problem' }
export interface Loading { what: string | null }

interface OwnEvents extends Events {
  message: Message;
  loading: Loading;
  figures: void; // some have arrived
  truth: void; // another truth, or none
}

export class Session implements App {
  readonly data = new Data();
  readonly store = new Store();
  readonly pelt = loadPelt();
  readonly stage: Stage;
  readonly pose = new Pose(() => this.posedAnew());
  readonly engine: Engine;
  readonly history = new History();
  readonly act = actOn(this);
  readonly under = el('div', { className: 'under' });
  show: Show | null = null;
  private readonly emitter = new Emitter<OwnEvents>();
  private readonly figuresOf = new Map<string, Figures | null>();
  private readonly measures = new Map<string, Measure | null>(); // by resource; null: on its way
  private readonly texturesOf = new Map<string, Promise<Textures | null>>();
  private listed: Subject[] = [];
  private openFile = ''; // the skin loaded in the engine
  private wanted = 0; // number of the latest presentation
  private deforming: Promise<void> | null = null;
  private deformAgain = false;
  private quiet = false;
  busy = false; // a frame is on its way

  constructor() {
    this.stage = new Stage((wipe) => this.store.set({ wipe }));
    this.stage.adjusted = (call) => {
      this.engine.adjust = call;
      void this.deform();
    };
    this.engine = new Engine(() => this.context());
    this.store.watch(['layout', 'wireframe', 'difference', 'wipe', 'blend', 'shading', 'ground', 'flat'], (state) => this.stage.setLook(state));
    this.store.watch(['subject'], () => void this.openSubject().catch((thrown) => this.problem(thrown)));
    this.store.watch(['skin'], () => this.stage.mesh && void this.openSkin().catch((thrown) => this.problem(thrown)));
    this.store.watch(['clip', 'frame'], () => void (this.pulledFace = this.followed = null));
    this.store.watch(['clip', 'frame'], () => void this.present().catch((thrown) => this.problem(thrown)));
    this.store.watch(['shading'], () => void this.dress().catch((thrown) => this.problem(thrown)));
    this.store.watch(['scale'], () => this.stage.setScale(this.scale()));
    this.store.watch(['level'], () => void this.deform());
    this.store.watch(['path'], () => void this.choosePath().then(() => this.deform()));
  }

  // -- Contents

  get server() { return this.show?.server ?? false; }
  get local() { return this.show?.local ?? false; }
  get can() { return this.show?.can ?? { fit: false, light: false, sample: false }; }
  subjects() { return this.listed; }
  subject() { return this.listed[this.store.get().subject] ?? null; }
  skin() { return this.engine.skin; }
  posed() { return this.engine.posed; }

  character() {
    const subject = this.subject();
    return subject?.kind === 'character' ? subject.character : null;
  }

  clips(): { name: string; frames: number; seconds?: number[] | null; truth: string | null }[] {
    const subject = this.subject();
    return subject?.kind === 'character' ? subject.character.clips : subject?.kind === 'face' ? subject.box.clips : [];
  }

  clip(): Clip | null { return this.character()?.clips[this.store.get().clip] ?? null; }

  skinNow(): Skin | null { return this.character()?.skins[this.store.get().skin] ?? null; }

  context(): WebGL2RenderingContext {
    if (!this.stage.renderer) throw new Problem('this browser has no WebGL 2.');
    return this.stage.renderer.getContext() as WebGL2RenderingContext;
  }

  // The second of two skins side by side.
  otherNow(): Skin | null {
    const { skin, other } = this.store.get();
    const skins = this.character()?.skins ?? [];
    return (other !== skin && skins[other]) || skins.find((_, i) => i !== skin) || null;
  }

  async refresh() {
    const open = this.skinNow()?.file;
    this.show = await this.data.show();
    this.listed = [
      ...this.show.characters.map((character, index) => ({ kind: 'character' as const, name: character.name, character, index })),
      ...this.show.boxes.map((box, index) => ({ kind: box.kind, name: box.name, box, index }) as Subject),
    ];
    this.emitter.emit('shown', undefined);
    void this.fetchFigures(); // for a skin fitted in the meantime
    if (open) this.keepSkin(open);
  }

  // Skins have come or gone: the open one stays open, and where it has gone its neighbour takes its place.
  private keepSkin(file: string) {
    const { skin } = this.store.get();
    const skins = this.character()?.skins ?? [];
    const at = skins.findIndex((one) => one.file === file);
    const next = at >= 0 ? at : Math.max(0, Math.min(skin, skins.length - 1));
    if (next !== skin) this.store.set({ skin: next });
    else if (at < 0) void this.openSkin().catch((thrown) => this.problem(thrown));
  }

  // Opens a subject; resolves when its first picture is there, or does not come.
  async openWhole(subject: number) {
    if (subject === this.store.get().subject) return this.settled();
    const shown = new Promise<void>((done) => {
      const stop = this.on('pose', () => { stop(); done(); });
      setTimeout(() => { stop(); done(); }, 20000);
    });
    this.store.set({ subject });
    if (this.subject()?.kind === 'character' || this.subject()?.kind === 'face') await shown;
  }

  on<E extends keyof OwnEvents>(event: E, call: (value: OwnEvents[E]) => void) { return this.emitter.on(event, call); }

  say(sentence: string, kind: 'note' | 'problem' = 'note') { this.emitter.emit('message', { sentence, kind }); }

  problem(thrown: unknown) {
    if (thrown instanceof DOMException && thrown.name === 'AbortError') return;
    if (!(thrown instanceof Problem)) console.warn(thrown);
    this.say(thrown instanceof Error ? thrown.message : String(thrown), 'problem');
  }

  // -- The chain

  private async openSubject() {
    const subject = this.subject();
    const turn = ++this.wanted;
    this.engine.close();
    this.openFile = '';
    this.real = this.pulledFace = this.followed = null;
    this.pose.forget();
    this.stage.clear();
    this.stage.cover(null);
    this.stage.setModel(false);
    const clip = this.firstClip();
    this.store.set({ playing: false, skin: 0, other: 1, vertex: -1, clip, frame: Math.floor((this.clips()[clip]?.frames ?? 0) / 2) }); // the first is usually the rest pose
    if (!subject || subject.kind === 'light') {
      if (subject) this.emitter.emit('subject', subject);
      return;
    }
    const description = subject.kind === 'character' ? subject.character : subject.box;
    if (subject.kind === 'character') this.pose.start(subject.character);
    this.loading(`Reading ${subject.name}`);
    this.askAhead();
    const mesh = await this.data.mesh(description.mesh);
    if (turn > this.wanted || this.subject()?.name !== subject.name) return; // by name: the list may have been read again
    this.stage.setMesh(mesh, null);
    this.stage.setLook(this.store.get());
    this.stage.setScale(this.scale());
    this.loading(null);
    this.emitter.emit('subject', subject);
    await Promise.all([this.openSkin(), this.store.get().shading === 'textures' && this.dress()]);
    void this.fetchFigures();
  }

  // All that the first picture needs, at once rather than one after another. Failures are told by who needs it.
  private askAhead() {
    const { clip, frame } = this.store.get();
    const names = [this.skinNow()?.file, this.clip()?.poses, this.clips()[clip]?.truth];
    for (const name of names) if (name) void this.data.bytes(numbered(name, frame)).catch(() => {});
  }

  // The first clip with a truth that the skin was not trained on, else the first with a truth, else the first.
  private firstClip() {
    const clips = this.clips();
    const trained = this.character()?.skins[0]?.facts?.clips ?? [];
    const unseen = clips.findIndex(({ name, truth }) => truth && !trained.includes(name));
    return Math.max(0, unseen < 0 ? clips.findIndex(({ truth }) => truth) : unseen);
  }

  private opening = 0; // number of the latest requested skin

  private async openSkin() {
    const turn = ++this.opening;
    const skin = this.skinNow();
    const character = this.character();
    if (!character || !skin) {
      this.engine.close();
      this.openFile = '';
      this.emitter.emit('skin', null);
      await this.present();
      return;
    }
    this.loading(`Reading ${skin.name}`);
    const bytes = await this.data.bytes(skin.file).finally(() => this.loading(null));
    const pelt = await this.pelt;
    if (turn !== this.opening || this.skinNow()?.file !== skin.file || !this.stage.mesh) return;
    this.openFile = '';
    this.stage.paint(null);
    try {
      this.engine.open(pelt, bytes, character.joints, character.controls);
      if (this.engine.skin!.vertexCount !== this.stage.mesh?.vertices) {
        throw new Problem(`${skin.name} has ${this.engine.skin!.vertexCount} vertices, but ${character.name} has ${this.stage.mesh?.vertices}.`);
      }
      this.openFile = skin.file;
    } catch (thrown) {
      this.engine.close();
      this.emitter.emit('skin', null);
      await this.present();
      throw new Problem(`${skin.name}: ${thrown instanceof Error ? thrown.message : thrown}`);
    }
    await this.choosePath();
    if (turn !== this.opening) return;
    this.emitter.emit('skin', this.engine.skin);
    await this.present();
  }

  private async choosePath() {
    const { path } = this.store.get();
    try {
      await this.engine.choose(path);
    } catch (thrown) {
      this.say(`${path === 'webgpu' ? 'WebGPU' : 'WebGL 2'} cannot be used here: ${thrown instanceof Error ? thrown.message : thrown}`, 'problem');
      this.store.set({ path: 'wasm' });
    }
  }

  // Pose, truth and picture of the current frame.
  private async present() {
    const turn = ++this.wanted;
    this.busy = true;
    await this.presentFrame(turn).finally(() => { if (turn === this.wanted) this.busy = false; });
  }

  private async presentFrame(turn: number) {
    const subject = this.subject();
    if (!subject || subject.kind === 'light' || !this.stage.mesh) return;
    if (this.pulledFace) return this.presentPulled(this.pulledFace);
    const { frame, clip } = this.store.get();
    const truth = this.followed ? null : this.clips()[clip]?.truth;
    const [moved, real] = await Promise.all([
      subject.kind === 'face' ? this.faceOf(frame) : this.poseOf(frame),
      truth ? this.data.floats(numbered(truth, frame), 3 * this.stage.mesh.vertices).catch((thrown) => { this.problem(thrown); return null; }) : null,
    ]);
    if (turn !== this.wanted) return;
    if (subject.kind === 'face') {
      if (moved) this.takeFace(moved as Float32Array);
      this.stage.setTruth(real);
      this.stage.keepInView();
    } else {
      const { locals, controls } = moved as { locals: Float32Array; controls: Float32Array | null };
      this.quiet = true;
      this.pose.setClip(locals, controls);
      this.quiet = false;
      this.real = real;
      await this.deform();
    }
    this.emitter.emit('truth', undefined);
    this.emitter.emit('pose', this.pose);
    this.ahead(frame);
  }

  // The vertex farthest from its truth in the picture; -1: unknown.
  worstVertex(): number {
    const { errors, truth } = this.stage;
    return errors && truth ? errors.reduce((worst, error, v) => (error > errors[worst]! ? v : worst), 0) : -1;
  }

  // Marks it, and points the camera at it.
  async lookAtWorst() {
    await this.settled(); // the frame that was asked for last
    const vertex = this.worstVertex();
    if (vertex >= 0) this.lookAtVertex(vertex);
  }

  lookAtVertex(vertex: number) {
    const shown = this.stage.positions;
    this.store.set({ vertex });
    if (shown) this.stage.lookAt(new Vector3().fromArray(shown, 3 * vertex));
  }

  private real: Float32Array | null = null; // truth of the clip's pose at this frame

  followed: { locals: Float32Array; controls: Float32Array } | null = null; // instead of the clip's pose

  // Shows a pose from elsewhere, until the frame changes; null: back to the clip. Resolves when it is drawn.
  follow(pose: { locals: Float32Array; controls: Float32Array } | null): Promise<void> {
    const none = !pose && !this.followed;
    this.followed = pose;
    return none ? Promise.resolve() : this.present();
  }

  private async poseOf(frame: number) {
    if (this.followed) return this.followed;
    const character = this.character()!;
    const clip = this.clip();
    if (!clip) return { locals: restOf(character), controls: null };
    const size = FLOATS * character.joints.length;
    const count = character.controls.length;
    const poses = await this.data.floats(clip.poses, clip.frames * size);
    const controls = clip.controls && count ? await this.data.floats(clip.controls, clip.frames * count) : null;
    return { locals: poses.subarray(frame * size, (frame + 1) * size), controls: controls?.subarray(frame * count, (frame + 1) * count) ?? null };
  }

  // The errors that the open skin expects along the clip, whatever the user has pulled; null: it does not know.
  async expectedAlong() {
    const { skin } = this.engine;
    const frames = this.clip()?.frames ?? 0;
    if (!skin?.regions.length || !frames) return null;
    const poses = await Promise.all(Array.from({ length: frames }, (_, frame) => this.poseOf(frame)));
    return this.engine.skin === skin ? this.engine.expected(poses) : null;
  }

  pulledFace: { model: Float32Array; truth: Float32Array | null } | null = null;

  showFace(face: { model: Float32Array; truth: Float32Array | null } | null) {
    this.pulledFace = face;
    void this.present().catch((thrown) => this.problem(thrown));
  }

  private presentPulled({ model, truth }: { model: Float32Array; truth: Float32Array | null }) {
    this.takeFace(model);
    this.stage.setTruth(truth);
    this.stage.keepInView();
    this.emitter.emit('truth', undefined);
    this.emitter.emit('pose', this.pose);
  }

  // What a face shows of a frame: the result of the soft cache, the key points alone, or the engine's points.
  private faceFile(): string | null {
    const subject = this.subject();
    const { clip, skin } = this.store.get();
    const now = subject?.kind === 'face' ? subject.box.clips[clip] : null;
    return now ? [now.cached, now.keyed, now.truth][skin] ?? now.cached : null;
  }

  private faceOf(frame: number): Promise<Float32Array> | null {
    const name = this.faceFile();
    return name ? this.data.floats(numbered(name, frame), 3 * this.stage.mesh!.vertices) : null;
  }

  private asOne: { mesh: object; first: Uint32Array } | null = null;

  private takeFace(positions: Float32Array) {
    const { mesh } = this.stage;
    this.stage.positions!.set(positions);
    if (mesh!.triangles) {
      if (this.asOne?.mesh !== mesh) this.asOne = { mesh: mesh!, first: shadedAsOne(mesh!) };
      smoothNormals(mesh!.indices, this.asOne!.first, positions, this.stage.normals!);
    }
    this.stage.setModel(true);
    this.emitter.emit('deformed', { milliseconds: 0 });
  }

  // Prefetches, so that playback does not wait.
  private ahead(frame: number) {
    const clip = this.clips()[this.store.get().clip];
    if (!clip || !this.store.get().playing) return;
    const face = this.faceFile();
    for (let i = 1; i <= 6; i++) {
      const next = (frame + i) % clip.frames;
      for (const name of [clip.truth, face]) if (name) void this.data.bytes(numbered(name, next)).catch(() => {});
    }
  }

  private posedAnew() {
    if (this.quiet) return;
    void this.deform();
    this.emitter.emit('pose', this.pose);
  }

  // One at a time; changes in the meantime are combined in the next.
  private deform(): Promise<void> {
    this.deformAgain = true;
    this.deforming ??= (async () => {
      while (this.deformAgain) {
        this.deformAgain = false;
        const { positions, normals } = this.stage;
        const there = this.openFile !== '' && positions !== null && normals !== null;
        if (there) await this.engine.deform(this.pose, this.store.get().level, positions, normals);
        this.stage.setModel(there);
        this.stage.setTruth(this.pose.pulled ? null : this.real);
        this.stage.keepInView();
        this.emitter.emit('deformed', { milliseconds: this.engine.milliseconds });
      }
    })().catch((thrown) => this.problem(thrown)).finally(() => { this.deforming = null; });
    return this.deforming;
  }

  // Once there is a picture: what takes the server or the page long may begin.
  pictured(): Promise<void> {
    if (this.stage.mesh && !this.busy) return Promise.resolve();
    return new Promise((done) => {
      const end = this.on('pose', () => { end(); done(); });
    });
  }

  // Until what was asked for is there: the skin, the frame, the deformation.
  async settled() {
    for (let i = 0; i < 4000; i++) {
      if (!this.busy && !this.deforming && this.openFile === (this.skinNow()?.file ?? '')) return;
      await new Promise((done) => setTimeout(done, 4));
    }
  }

  private loading(what: string | null) { this.emitter.emit('loading', { what }); }

  // -- Textures

  private async dress() {
    const character = this.character();
    if (this.store.get().shading !== 'textures' || !character?.surface) return;
    const known = this.texturesOf.get(character.surface) ?? this.readTextures(character.surface, character.vertices);
    this.texturesOf.set(character.surface, known);
    const textures = await known;
    if (textures && this.character() === character) this.stage.dress(textures);
  }

  private async readTextures(name: string, vertices: number): Promise<Textures | null> {
    const surface = await this.data.json<Surface>(name);
    const uvs = surface.uvs ? await this.data.floats(surface.uvs, 2 * vertices) : new Float32Array(2 * vertices);
    const used = new Map<number, Promise<ImageBitmap>>();
    const picture = async (image: number | null | undefined, wrap: Wrap[]) => {
      if (image === null || image === undefined) return null;
      if (!used.has(image)) used.set(image, this.readImage(surface.images[image]!));
      const bitmap = await used.get(image)!.catch((thrown) => { this.problem(thrown); return null; });
      return bitmap && textureOf(bitmap, wrap);
    };
    const parts = await Promise.all(surface.parts.map(async (part) => {
      const wrap = part.wrap ?? ['repeat', 'repeat'];
      return { ...part, texture: await picture(part.image, wrap), bumps: surface.uvs ? await picture(part.normal, wrap) : null };
    }));
    return { uvs, parts };
  }

  private async readImage({ file, type }: { file: string; type: string }): Promise<ImageBitmap> {
    const bytes = await this.data.bytes(file);
    return createImageBitmap(new Blob([bytes], { type }), { colorSpaceConversion: 'none', premultiplyAlpha: 'none' });
  }

  // -- Figures

  figures(skin: Skin): Figures | null | undefined { return this.figuresOf.get(skin.figures ?? ''); }

  private async fetchFigures() {
    const character = this.character();
    for (const skin of character?.skins ?? []) {
      if (!skin.figures || this.figuresOf.has(skin.figures)) continue;
      const figures = await this.data.json<Figures | null>(skin.figures).catch((thrown) => { this.problem(thrown); return null; });
      this.figuresOf.set(skin.figures, figures);
      this.emitter.emit('figures', undefined);
      if (this.character() !== character) return;
    }
  }

  // The error of a skin on a clip, if it was measured; null: it is being measured.
  measureOf(skin: Skin, clip: number): Measure | null | undefined { return this.measures.get(numbered(skin.measure ?? '', clip)); }

  async measure(skin: Skin, clip: number) {
    const name = skin.measure && this.clips()[clip]?.truth ? numbered(skin.measure, clip) : '';
    if (!name || this.measures.has(name)) return;
    this.measures.set(name, null);
    this.emitter.emit('figures', undefined);
    try {
      this.measures.set(name, await this.data.json<Measure>(name));
      this.stage.setScale(this.scale());
    } catch (thrown) {
      this.measures.delete(name);
      this.problem(thrown);
    }
    this.emitter.emit('figures', undefined);
  }

  private readonly errorsOf = new Map<string, Promise<Errors>>();

  errors(skin: Skin, clip: number): Promise<Errors> {
    const name = numbered(skin.errors!, clip);
    const known = this.errorsOf.get(name) ?? this.data.json<Errors>(name);
    this.errorsOf.set(name, known);
    known.catch(() => this.errorsOf.delete(name));
    return known;
  }

  // How many skins, or results of a face, can be chosen.
  choices(): number { return this.subject()?.kind === 'face' ? FACE_RESULTS.length : this.character()?.skins.length ?? 0; }

  // What has errors along a clip: a character's skins, or what a face shows.
  measured(clip: number): { name: string; errors: (() => Promise<Partial<Errors>>) | null }[] {
    const subject = this.subject();
    if (!this.clips()[clip]?.truth) return [];
    if (subject?.kind === 'character') {
      return subject.character.skins.map((skin) => ({ name: skin.name, errors: skin.errors ? () => this.errors(skin, clip) : null }));
    }
    if (subject?.kind !== 'face') return [];
    const { verdicts } = subject.box.clips[clip]!;
    const errors = (which: 'cached' | 'keyed') => async () => (await this.data.json<Verdicts>(verdicts))[which];
    return [{ name: FACE_RESULTS[0], errors: errors('cached') }, { name: FACE_RESULTS[1], errors: errors('keyed') }];
  }

  // The default top of the heat map.
  autoScale(): number {
    const rms = (this.character()?.skins ?? []).map((skin) => this.typicalError(skin));
    const subject = this.subject();
    const diagonal = subject?.kind === 'character' ? subject.character.diagonal : subject?.kind === 'face' ? subject.box.diagonal : 1;
    return commonScale(rms, diagonal);
  }

  // For the scale alone: what the skin says of unseen examples, else of its own, else what was measured here.
  private typicalError(skin: Skin): number {
    const measured = this.clips().map((_, clip) => this.measureOf(skin, clip)?.rms).find((rms) => rms !== undefined);
    return skin.facts?.holdout?.rms ?? skin.facts?.train?.rms ?? measured ?? NaN;
  }

  // Some clip of the character has a truth.
  hasTruth(): boolean { return this.clips().some(({ truth }) => truth); }

  scale(): number { return this.store.get().scale ?? this.autoScale(); }
}
