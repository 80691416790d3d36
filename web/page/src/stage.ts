// stage.ts: the picture. Panes with one camera: truth, model, difference; or both in one pane, overlaid or wiped.
//
// One canvas is under all panes and is drawn pane by pane with the scissor test; a pane's element only defines its area
// and receives the pointer. Nothing is drawn unless something has changed.

import {
  Box3, BufferAttribute, BufferGeometry, Color, DynamicDrawUsage, Group, MeshBasicMaterial, Mesh, OrthographicCamera, PerspectiveCamera, Points, Scene,
  Vector3,
  WebGLRenderer, type Texture,
} from 'three';
import { OrbitControls } from 'three/addons/controls/OrbitControls.js';
import type { Pane, Stage as StageOfApp } from './app';
import type { MeshData } from './data';
import type { Part } from './show';
import type { Layout, Shading, State } from './store';
import { el } from './dom';
import { Ground } from './ground';
import { shadedAsOne, smoothNormals } from './normals';
import { CLAY, HEAT, NORMALS, PAINT, TEXTURES, createSurface, type Surface } from './surface';

export type Arrangement = Layout | 'truth'; // what is actually shown: without truth or model there is one pane

const TITLES: Record<Pane, string> = { truth: 'Truth', model: 'Model', difference: 'Difference' };
const PANES: Record<Arrangement, Pane[]> = { side: ['truth', 'model', 'difference'], overlay: ['model'], wipe: ['model'], model: ['model'], truth: ['truth'] };

const LEGEND = 84; // pixels at the bottom of a pane covered by the legend

// The initial camera direction, and its axes.
const ALONG = new Vector3(0.42, 0.16, 1).normalize();
const RIGHT = new Vector3(0, 1, 0).cross(ALONG).normalize();
const UP = ALONG.clone().cross(RIGHT);

export interface Textures {
  uvs: Float32Array;
  parts: (Part & { texture: Texture | null; bumps: Texture | null })[];
}

// One surface to draw, the model's or the truth's.
class Body {
  readonly geometry = new BufferGeometry();
  readonly surface = createSurface();
  readonly lines = new MeshBasicMaterial({ wireframe: true, transparent: true, opacity: 0.2, color: 0x101014 });
  readonly object: Mesh | Points;
  readonly wires: Mesh;
  readonly scene = new Scene();
  parts: Surface[] = [];
  ground: Mesh | null = null;

  constructor(mesh: MeshData, index: BufferAttribute | null, textures: Textures | null) {
    const dynamic = (array: Float32Array, size: number) => new BufferAttribute(array, size).setUsage(DynamicDrawUsage);
    this.geometry.setAttribute('position', dynamic(mesh.positions.slice(), 3));
    this.geometry.setAttribute('normal', dynamic(mesh.normals.slice(), 3));
    this.geometry.setAttribute('error', dynamic(new Float32Array(mesh.vertices), 1));
    if (index) this.geometry.setIndex(index);
    this.surface.uniforms.points.value = mesh.triangles === 0;
    this.object = mesh.triangles ? new Mesh(this.geometry, this.surface) : new Points(this.geometry, this.surface);
    this.wires = new Mesh(this.geometry, this.lines);
    for (const object of [this.object, this.wires]) object.frustumCulled = false;
    this.scene.add(this.object, this.wires);
    if (textures) this.dress(textures);
  }

  get positions() { return this.geometry.attributes.position!.array as Float32Array; }
  get normals() { return this.geometry.attributes.normal!.array as Float32Array; }
  get errors() { return this.geometry.attributes.error!.array as Float32Array; }

  dress(textures: Textures) {
    this.geometry.setAttribute('uv', new BufferAttribute(textures.uvs, 2));
    this.geometry.clearGroups();
    this.parts = textures.parts.map((part, i) => {
      this.geometry.addGroup(3 * part.first_triangle, 3 * part.triangles, i);
      const surface = createSurface();
      surface.uniforms.mode.value = TEXTURES;
      surface.uniforms.image.value = part.texture;
      surface.uniforms.textured.value = part.texture !== null;
      surface.uniforms.bumps.value = part.bumps;
      surface.uniforms.bumped.value = part.bumps !== null;
      surface.uniforms.colour.value = new Color().fromArray(part.color);
      return surface;
    });
  }

  changed(...names: string[]) {
    for (const name of names) this.geometry.attributes[name]!.needsUpdate = true;
  }

  // Every drawable surface, for shared uniforms.
  surfaces(): Surface[] { return [this.surface, ...this.parts]; }

  free() {
    this.geometry.dispose();
    for (const material of [...this.surfaces(), this.lines]) material.dispose();
  }
}

export interface Drawn { layout: Layout; shading: Shading; wireframe: boolean; difference: boolean; wipe: number; blend: number; ground: boolean; flat: boolean }

function createRenderer(canvas: HTMLCanvasElement): WebGLRenderer | null {
  try {
    const renderer = new WebGLRenderer({ canvas, antialias: true, alpha: true, powerPreference: 'high-performance' });
    renderer.autoClear = false;
    return renderer;
  } catch {
    return null;
  }
}

// Everything but the picture still works: it is said, and the page goes on.
const withoutWebGL = () => el('div', { className: 'no-picture', role: 'note' },
  el('b', {}, 'This browser cannot draw in three dimensions (WebGL 2 is missing or switched off).'),
  el('span', {}, 'Figures, curves, panels and fits work without it.'));

export class Stage implements StageOfApp {
  private readonly deep = new PerspectiveCamera(30, 1, 0.01, 100);
  private readonly flat = new OrthographicCamera();
  readonly overlay = new Group();
  readonly element = el('div', { className: 'stage' });
  readonly canvas = el('canvas', { className: 'stage-canvas', aria: { hidden: 'true' } });
  readonly renderer: WebGLRenderer | null; // null: this browser has no WebGL
  private readonly ground = new Ground();
  mesh: MeshData | null = null;
  truth: Float32Array | null = null;
  arrangement: Arrangement = 'model';
  drawnFrames = 0; // number of pictures drawn, for measurements

  adjusted: (call: Parameters<StageOfApp['adjust']>[0]) => void = () => {}; // set by whoever deforms

  private readonly panes = new Map<Pane, HTMLElement>();
  private readonly paneRow = el('div', { className: 'panes' });
  private readonly divider: HTMLElement;
  private readonly controls: OrbitControls;
  private readonly box = new Box3();
  private model: Body | null = null;
  private real: Body | null = null;
  private asOne: Uint32Array | null = null;
  private hasModel = false;
  private painted = false;
  private framed = true; // the user has not moved the camera
  private fresh = true; // only the rest pose has been framed so far
  private waiting = 0;
  private scale = 1;
  private covered: HTMLElement | null = null;
  private look: Drawn = { layout: 'side', shading: 'clay', wireframe: false, difference: false, wipe: 0.5, blend: 0.5, ground: true, flat: false };

  constructor(onWipe: (share: number) => void) {
    this.renderer = createRenderer(this.canvas);
    this.divider = this.createDivider(onWipe);
    this.element.append(this.canvas, this.paneRow, this.divider);
    if (!this.renderer) this.element.append(withoutWebGL());
    this.controls = new OrbitControls(this.deep, this.paneRow);
    this.controls.addEventListener('change', () => this.redraw());
    this.controls.addEventListener('start', () => { this.framed = false; });
    new ResizeObserver(() => this.resized()).observe(this.element);
  }

  // -- What is shown

  setMesh(mesh: MeshData, textures: Textures | null) {
    this.clear();
    this.mesh = mesh;
    const index = mesh.triangles ? new BufferAttribute(mesh.indices, 1) : null;
    this.model = new Body(mesh, index, textures);
    this.real = new Body(mesh, index, textures);
    this.model.scene.add(this.overlay);
    this.asOne = mesh.triangles ? shadedAsOne(mesh) : null;
    this.box.setFromArray(mesh.positions);
    this.ground.place(this.box);
    for (const body of [this.model, this.real]) body.scene.add(body.ground = this.ground.mesh());
    this.framed = this.fresh = true;
    this.arrange();
  }

  clear() {
    for (const body of [this.model, this.real]) body?.free();
    this.model = this.real = this.mesh = this.truth = null;
    this.hasModel = this.painted = false;
    this.overlay.clear();
  }

  dress(textures: Textures) {
    this.model?.dress(textures);
    this.real?.dress(textures);
    this.redraw();
  }

  get dressed() { return (this.model?.parts.length ?? 0) > 0; }
  get positions() { return this.model?.positions ?? null; }
  get normals() { return this.model?.normals ?? null; }
  get errors() {
    this.compare();
    return this.model?.errors ?? null;
  }

  // Called after the model's positions and normals were written, or there is no model.
  setModel(there: boolean) {
    const before = this.hasModel;
    this.hasModel = there;
    this.model?.changed('position', 'normal');
    this.staleErrors = true;
    if (before !== there) this.arrange();
    this.redraw();
  }

  setTruth(truth: Float32Array | null) {
    const before = this.truth !== null;
    this.truth = truth;
    if (truth && this.real && this.mesh) {
      this.real.positions.set(truth);
      this.real.changed('position');
    }
    this.staleNormals = this.staleErrors = true;
    if (before !== (truth !== null)) this.arrange();
    this.redraw();
  }

  // Normals of the truth and distances from it are computed on demand: playing only the model costs nothing extra.
  private staleNormals = false;
  private staleErrors = false;

  private shadeTruth() {
    if (!this.staleNormals || !this.truth || !this.real || !this.mesh) return;
    this.staleNormals = false;
    if (this.asOne) smoothNormals(this.mesh.indices, this.asOne, this.truth, this.real.normals);
    this.real.changed('normal');
  }

  // Distances between model and truth, for the heat map.
  private compare() {
    if (!this.model || !this.staleErrors) return;
    this.staleErrors = false;
    const { positions, errors } = this.model;
    const truth = this.truth;
    if (!truth || !this.hasModel) errors.fill(0);
    else {
      for (let v = 0, i = 0; v < errors.length; v++, i += 3) {
        const x = positions[i]! - truth[i]!, y = positions[i + 1]! - truth[i + 1]!, z = positions[i + 2]! - truth[i + 2]!;
        errors[v] = Math.sqrt(x * x + y * y + z * z);
      }
    }
    this.model.changed('error');
  }

  setScale(scale: number) {
    this.scale = scale;
    this.redraw();
  }

  setLook(state: Readonly<State>) {
    const { layout, shading, wireframe, difference, wipe, blend, ground, flat } = state;
    const again = layout !== this.look.layout;
    this.look = { layout, shading, wireframe, difference, wipe, blend, ground, flat };
    this.setFlat(flat);
    if (again) this.arrange();
    this.placeDivider();
    this.redraw();
  }

  paint(colours: Float32Array | null) {
    if (!this.model) return;
    this.painted = colours !== null;
    if (colours) {
      const known = this.model.geometry.getAttribute('paint') as BufferAttribute | undefined;
      if (known && known.array.length === colours.length) {
        (known.array as Float32Array).set(colours);
        known.needsUpdate = true;
      } else this.model.geometry.setAttribute('paint', new BufferAttribute(colours.slice(), 3));
    }
    this.redraw();
  }

  adjust(call: Parameters<StageOfApp['adjust']>[0]) { this.adjusted(call); }

  cover(element: HTMLElement | null) {
    this.covered?.remove();
    this.covered = element;
    if (element) {
      element.classList.add('cover');
      this.element.append(element);
    }
  }

  pane(name: Pane): HTMLElement | null { return this.panes.get(name) ?? null; }

  orbit(enabled: boolean) { this.controls.enabled = enabled; }

  // -- Panes

  private arrange() {
    this.arrangement = this.truth && this.hasModel ? this.look.layout : this.truth ? 'truth' : 'model';
    const wanted = this.mesh ? PANES[this.arrangement] : [];
    for (const [name, element] of this.panes) {
      if (wanted.includes(name)) continue;
      element.remove();
      this.panes.delete(name);
    }
    for (const name of wanted) {
      const pane = this.panes.get(name) ?? el('div', { className: 'pane', data: { pane: name } }, el('div', { className: 'pane-title' }));
      this.panes.set(name, pane);
      this.paneRow.append(pane); // again, to restore the order
    }
    this.element.dataset.arrangement = this.arrangement;
    this.placeDivider();
    this.resized();
    this.element.dispatchEvent(new CustomEvent('arranged'));
  }

  // The title of a pane, with a smaller note.
  title(name: Pane, note: string, ...words: Pane[]) {
    const head = this.panes.get(name)?.querySelector('.pane-title');
    const names = (words.length ? words : [name]).map((word) => el('b', { data: { ink: word } }, TITLES[word]));
    head?.replaceChildren(...names.flatMap((element) => [element, ' ']), el('span', {}, note));
  }

  private createDivider(onWipe: (share: number) => void) {
    const divider = el('div', { className: 'divider', role: 'slider', tabIndex: 0, aria: { label: 'Wipe between truth and model', valuemin: '0', valuemax: '100' } });
    divider.hidden = true; // until a wipe is laid out
    const at = (event: PointerEvent) => {
      const { left, width } = this.element.getBoundingClientRect();
      onWipe(Math.min(1, Math.max(0, (event.clientX - left) / width)));
    };
    divider.addEventListener('pointerdown', (event) => {
      divider.setPointerCapture(event.pointerId);
      event.preventDefault();
      divider.focus();
    });
    divider.addEventListener('pointermove', (event) => divider.hasPointerCapture(event.pointerId) && at(event));
    divider.addEventListener('keydown', (event) => {
      const step = { ArrowLeft: -0.02, ArrowRight: 0.02, Home: -1, End: 1 }[event.key];
      if (!step) return;
      event.preventDefault();
      event.stopPropagation();
      onWipe(Math.min(1, Math.max(0, this.look.wipe + step)));
    });
    return divider;
  }

  private placeDivider() {
    this.divider.hidden = this.arrangement !== 'wipe';
    this.divider.style.left = `${100 * this.look.wipe}%`;
    this.divider.setAttribute('aria-valuenow', String(Math.round(100 * this.look.wipe)));
  }

  // Panes side by side or stacked, whichever shows the character larger.
  private stack(width: number, height: number) {
    const [wide, tall] = this.extent();
    const shape = wide / Math.max(tall, 1e-9);
    const count = Math.max(1, this.panes.size);
    const fits = (w: number, h: number) => Math.min(w / shape, h);
    this.element.dataset.stack = fits(width, height / count) > 1.1 * fits(width / count, height) ? 'rows' : 'columns';
  }

  private resized() {
    const { clientWidth: width, clientHeight: height } = this.element;
    if (!width || !height) return;
    if (this.mesh) this.stack(width, height);
    this.renderer?.setPixelRatio(Math.min(devicePixelRatio, 2));
    this.renderer?.setSize(width, height, false);
    if (this.framed) this.frame();
    this.draw(); // immediately: a resized canvas is black until then
  }

  // -- The camera

  // Until the user moves the camera, keeps the whole motion of the clip in view.
  keepInView() {
    const shown = this.hasModel ? this.positions : this.truth;
    if (!this.framed || !shown) return;
    const now = new Box3().setFromArray(shown);
    if (!this.fresh && this.box.containsBox(now)) return;
    if (this.fresh) this.box.copy(now); // the first pose is more telling than the rest pose
    else this.box.union(now);
    if (this.fresh) this.resized();
    else this.frame();
    this.fresh = false;
  }

  // From scratch, for the current pose.
  reframe() {
    this.framed = this.fresh = true;
    this.keepInView();
    this.frame();
    this.redraw();
  }

  // Half the width and height of the box as first seen by the camera, and how near its corners are.
  private extent(): [number, number, number] {
    const size = this.box.getSize(new Vector3()).multiplyScalar(0.5);
    const reach = (axis: Vector3) => Math.abs(axis.x) * size.x + Math.abs(axis.y) * size.y + Math.abs(axis.z) * size.z;
    return [reach(RIGHT), reach(UP), reach(ALONG)];
  }

  private get slope() { return Math.tan((this.deep.fov * Math.PI) / 360); }

  get camera(): PerspectiveCamera | OrthographicCamera { return this.controls.object as PerspectiveCamera | OrthographicCamera; }
  get target(): Vector3 { return this.controls.target; }

  // Without perspective the picture is as large as things are at the target, and distance still says how large.
  private setFlat(on: boolean) {
    const [from, to] = on ? [this.deep, this.flat] : [this.flat, this.deep];
    if (this.camera === to) return;
    to.position.copy(from.position);
    this.controls.object = to;
    this.controls.update();
    this.element.dispatchEvent(new CustomEvent('camera'));
  }

  private shape(width: number, height: number) {
    const aspect = width / Math.max(1, height);
    this.deep.aspect = aspect;
    if (this.flat.zoom !== 1) { // what the wheel does to it becomes distance
      this.flat.position.sub(this.target).divideScalar(this.flat.zoom).add(this.target);
      this.flat.zoom = 1;
    }
    const tall = this.slope * this.flat.position.distanceTo(this.target);
    Object.assign(this.flat, { left: -tall * aspect, right: tall * aspect, top: tall, bottom: -tall });
    this.camera.updateProjectionMatrix();
  }

  // Along an axis, at the distance of now.
  viewFrom(direction: [number, number, number]) {
    const distance = this.camera.position.distanceTo(this.target);
    this.moveCamera(new Vector3(...direction).setLength(distance).add(this.target), this.target);
  }

  moveCamera(position: Vector3, target: Vector3) {
    this.controls.target.copy(target);
    this.camera.position.copy(position);
    this.framed = false;
    this.controls.update();
    this.redraw();
  }

  get moved() { return !this.framed; }

  // The whole character, slightly from the side, fitted to a pane.
  frame() {
    if (!this.mesh || this.box.isEmpty()) return;
    const pane = [...this.panes.values()][0];
    const aspect = pane?.clientHeight ? pane.clientWidth / pane.clientHeight : this.deep.aspect;
    const centre = this.box.getCenter(new Vector3());
    const [wide, tall, deep] = this.extent();
    const slope = this.slope;
    const room = this.arrangement === 'side' && this.element.dataset.stack === 'columns' && pane ? LEGEND / Math.max(4 * LEGEND, pane.clientHeight) : 0;
    const distance = 1.08 * (0.6 * deep + Math.max(wide / (slope * aspect), tall / (slope * (1 - room))));
    centre.addScaledVector(UP, -room * slope * distance);
    const reach = this.box.getSize(new Vector3()).length();
    this.deep.near = reach * 0.005;
    this.deep.far = distance + reach * 30;
    this.flat.near = -reach * 30; // without perspective nothing is behind the camera
    this.flat.far = this.deep.far;
    this.camera.position.copy(centre).addScaledVector(ALONG, distance);
    this.controls.target.copy(centre);
    this.controls.maxDistance = reach * 20;
    this.controls.update();
    this.framed = true;
  }

  // Moves closer to one point, keeping the direction.
  lookAt(point: Vector3) {
    const offset = this.camera.position.clone().sub(this.controls.target);
    const reach = this.box.getSize(new Vector3()).length();
    if (offset.length() > reach * 0.45) offset.setLength(reach * 0.45);
    this.controls.target.copy(point);
    this.camera.position.copy(point).add(offset);
    this.framed = false;
    this.controls.update();
    this.redraw();
  }

  turn(across: number, upward: number) {
    const offset = this.camera.position.clone().sub(this.controls.target);
    offset.applyAxisAngle(new Vector3(0, 1, 0), across);
    const right = new Vector3(0, 1, 0).cross(offset).normalize();
    const turned = offset.clone().applyAxisAngle(right, -upward);
    if (Math.abs(turned.y) < turned.length() * 0.98) offset.copy(turned);
    this.camera.position.copy(this.controls.target).add(offset);
    this.framed = false;
    this.controls.update();
    this.redraw();
  }

  zoom(factor: number) {
    this.camera.position.sub(this.controls.target).multiplyScalar(factor).add(this.controls.target);
    this.framed = false;
    this.controls.update();
    this.redraw();
  }

  // -- Drawing

  redraw() {
    this.waiting ||= requestAnimationFrame(() => {
      this.waiting = 0;
      this.draw();
    });
  }

  draw() {
    const { renderer } = this;
    if (!renderer) return;
    const width = this.element.clientWidth;
    const height = this.element.clientHeight;
    renderer.setScissorTest(false);
    renderer.clear();
    if (!this.mesh || !this.model || !this.real || this.covered) return;
    renderer.setScissorTest(true);
    const stage = this.element.getBoundingClientRect();
    for (const [name, element] of this.panes) {
      const rect = element.getBoundingClientRect();
      const [wide, tall] = [Math.floor(rect.width), Math.floor(rect.height)]; // whole pixels, the same for all panes
      const left = Math.round(rect.left - stage.left);
      const bottom = height - Math.round(rect.top - stage.top) - tall;
      this.shape(wide, tall);
      renderer.setViewport(left, bottom, wide, tall);
      renderer.setScissor(left, bottom, wide, tall);
      if (this.arrangement === 'overlay') this.drawOverlaid();
      else if (this.arrangement === 'wipe') this.drawWiped(width, height);
      else this.drawBody(name === 'truth' ? this.real : this.model, name === 'difference');
    }
    this.drawnFrames++;
    this.element.dispatchEvent(new CustomEvent('drawn'));
  }

  private modeOf(body: Body, heat: boolean): number {
    if (heat) return HEAT;
    if (body === this.model && this.painted) return PAINT;
    return this.look.shading === 'normals' ? NORMALS : this.look.shading === 'textures' && body.parts.length ? TEXTURES : CLAY;
  }

  private drawBody(body: Body, heat: boolean, tint: [number, number, number] = [1, 1, 1], opacity = 1) {
    if (body === this.real) this.shadeTruth();
    const mode = this.modeOf(body, heat || (this.look.difference && body === this.model && this.truth !== null));
    if (mode === HEAT) this.compare();
    body.object.material = mode === TEXTURES ? body.parts : body.surface;
    for (const surface of body.surfaces()) {
      surface.uniforms.tint.value.set(...tint);
      surface.uniforms.opacity.value = opacity;
      surface.uniforms.scale.value = this.scale;
      surface.transparent = opacity < 1;
    }
    body.surface.uniforms.mode.value = mode;
    body.wires.visible = this.look.wireframe && this.mesh!.triangles > 0;
    this.overlay.visible = !heat;
    body.ground!.visible = this.look.ground && !(this.arrangement === 'overlay' && body === this.model); // there once is enough
    this.renderer!.render(body.scene, this.camera);
  }

  private drawWiped(width: number, height: number) {
    const at = Math.round(width * this.look.wipe);
    this.renderer!.setScissor(0, 0, at, height);
    this.drawBody(this.real!, false);
    this.renderer!.setScissor(at, 0, width - at, height);
    this.drawBody(this.model!, false);
  }

  // Blue truth, then orange model on top with its own depth: where they agree the colours cancel, elsewhere one
  // remains.
  private drawOverlaid() {
    this.drawBody(this.real!, false, [0.55, 0.85, 1.45]);
    this.renderer!.clearDepth();
    for (const surface of this.model!.surfaces()) surface.colorWrite = false;
    const { wireframe } = this.look;
    this.look.wireframe = false;
    this.drawBody(this.model!, false);
    this.look.wireframe = wireframe;
    for (const surface of this.model!.surfaces()) surface.colorWrite = true;
    this.drawBody(this.model!, false, [1.45, 0.95, 0.5], this.look.blend);
  }
}
