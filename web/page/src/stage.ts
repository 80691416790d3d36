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
import { makeDrawable } from './canvas';
import { el } from './dom';
import { Ground } from './ground';
import { shadedAsOne, smoothNormals } from './normals';
import { CLAY, HEAT, NORMALS, PAINT, TEXTURES, createSurface, type Surface } from './surface';

export type Arrangement = Layout | 'truth'; // what is actually shown: without truth or model there is one pane

const TITLES: Record<string, string> = { truth: 'Truth', model: 'Model', difference: 'Difference' };
const PANES: Record<Arrangement, Pane[]> = { side: ['truth', 'model', 'difference'], overlay: ['model'], wipe: ['model'], model: ['model'], truth: ['truth'], skins: ['truth', 'model', 'other'] };

const POINT = 3; // pixels of a vertex without triangles
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
  stale = true; // its errors are not those of its positions
  ground: Mesh | null = null;
  private readonly errors: Float32Array;

  constructor(mesh: MeshData, index: BufferAttribute | null, textures: Textures | null) {
    const dynamic = (array: Float32Array, size: number) => new BufferAttribute(array, size).setUsage(DynamicDrawUsage);
    this.geometry.setAttribute('position', dynamic(mesh.positions.slice(), 3));
    this.geometry.setAttribute('normal', dynamic(mesh.normals.slice(), 3));
    if (index) this.geometry.setIndex(index);
    this.surface.uniforms.points.value = mesh.triangles === 0;
    this.object = mesh.triangles ? new Mesh(this.geometry, this.surface) : new Points(this.geometry, this.surface);
    this.wires = new Mesh(this.geometry, this.lines);
    for (const object of [this.object, this.wires]) object.frustumCulled = false;
    this.scene.add(this.object, this.wires);
    this.errors = new Float32Array(mesh.vertices);
    if (textures) this.dress(textures);
  }

  // The heat map is computed where it is drawn.
  compareWith(truth: Body) { this.geometry.setAttribute('truth', truth.geometry.getAttribute('position')); }

  // How far its vertices are from the truth, for those who ask.
  distances(truth: Float32Array | null): Float32Array {
    const { positions, errors } = this;
    if (!this.stale) return errors;
    this.stale = false;
    if (!truth) return errors.fill(0);
    for (let v = 0, i = 0; v < errors.length; v++, i += 3) {
      const x = positions[i]! - truth[i]!, y = positions[i + 1]! - truth[i + 1]!, z = positions[i + 2]! - truth[i + 2]!;
      errors[v] = Math.sqrt(x * x + y * y + z * z);
    }
    return errors;
  }

  get positions() { return this.geometry.attributes.position!.array as Float32Array; }
  get normals() { return this.geometry.attributes.normal!.array as Float32Array; }

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
    this.geometry.deleteAttribute('truth').setIndex(null); // others draw with these
    this.geometry.dispose();
    for (const material of [...this.surfaces(), this.lines]) material.dispose();
  }
}

// As Box3.setFromArray, which takes several times as long: it is done at every frame.
function boxOf(positions: Float32Array): Box3 {
  let [left, low, near, right, high, far] = [Infinity, Infinity, Infinity, -Infinity, -Infinity, -Infinity];
  for (let i = 0; i < positions.length; i += 3) {
    const x = positions[i]!, y = positions[i + 1]!, z = positions[i + 2]!;
    if (x < left) left = x;
    if (x > right) right = x;
    if (y < low) low = y;
    if (y > high) high = y;
    if (z < near) near = z;
    if (z > far) far = z;
  }
  return new Box3(new Vector3(left, low, near), new Vector3(right, high, far));
}

export interface Drawn { layout: Layout; shading: Shading; wireframe: boolean; difference: boolean; wipe: number; blend: number; ground: boolean; flat: boolean }

function createRenderer(canvas: HTMLCanvasElement, context: WebGL2RenderingContext | null): WebGLRenderer | null {
  if (!context) return null;
  const renderer = new WebGLRenderer({ canvas, context, alpha: true });
  renderer.autoClear = false;
  return renderer;
}

// Everything but the picture still works: it is said, and the page goes on.
const withoutWebGL = () => el('div', { className: 'no-picture', role: 'note' },
  el('b', {}, 'This browser cannot draw in 3D: WebGL 2 is missing or switched off.'),
  el('span', {}, 'Figures, curves, panels and fits work without it.'));

export class Stage implements StageOfApp {
  private readonly deep = new PerspectiveCamera(30, 1, 0.01, 100);
  private readonly flat = new OrthographicCamera();
  readonly overlay = new Group();
  readonly element = el('div', { className: 'stage' });
  readonly canvas: HTMLCanvasElement;
  readonly renderer: WebGLRenderer | null; // null: this browser has no WebGL
  private readonly ground = new Ground();
  mesh: MeshData | null = null;
  truth: Float32Array | null = null;
  arrangement: Arrangement = 'model';
  drawnFrames = 0; // number of pictures drawn, for measurements
  smoothAfter = Infinity; // milliseconds without a change after which edges are smoothed, where they are not always

  adjusted: (call: Parameters<StageOfApp['adjust']>[0]) => void = () => {}; // set by whoever deforms

  private readonly panes = new Map<Pane, HTMLElement>();
  private readonly paneRow = el('div', { className: 'panes' });
  private readonly divider: HTMLElement;
  private readonly controls: OrbitControls;
  private readonly box = new Box3();
  private model: Body | null = null;
  private real: Body | null = null;
  private second: Body | null = null; // another skin
  private textures: Textures | null = null;
  private asOne: Uint32Array | null = null;
  private hasModel = false;
  private painted = false;
  private framed = true; // the user has not moved the camera
  private fresh = true; // only the rest pose has been framed so far
  private waiting = 0;
  private scale = 1;
  private size = { width: 0, height: 0, ratio: 0 }; // of the canvas
  private finer = 1; // pixels drawn for each one of the canvas, across and down
  private resting = 0;
  private covered: HTMLElement | null = null;
  private look: Drawn = { layout: 'side', shading: 'clay', wireframe: false, difference: false, wipe: 0.5, blend: 0.5, ground: true, flat: false };

  constructor(onWipe: (share: number) => void) {
    const { canvas, context, smooth } = makeDrawable();
    this.canvas = canvas;
    if (context && !smooth) this.smoothAfter = 250;
    this.renderer = createRenderer(canvas, context);
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
    this.model.compareWith(this.real);
    this.model.scene.add(this.overlay);
    this.asOne = mesh.triangles ? shadedAsOne(mesh) : null;
    this.box.setFromArray(mesh.positions);
    this.ground.place(this.box);
    for (const body of [this.model, this.real]) body.scene.add(body.ground = this.ground.mesh());
    this.framed = this.fresh = true;
    this.arrange();
  }

  clear() {
    for (const body of [this.model, this.real, this.second]) body?.free();
    this.model = this.real = this.second = this.mesh = this.truth = this.textures = null;
    this.hasModel = this.painted = false;
    this.overlay.clear();
  }

  dress(textures: Textures) {
    this.textures = textures;
    for (const body of [this.model, this.real, this.second]) body?.dress(textures);
    this.redraw();
  }

  get dressed() { return (this.model?.parts.length ?? 0) > 0; }
  get positions() { return this.model?.positions ?? null; }
  get normals() { return this.model?.normals ?? null; }
  get errors() { return this.errorsIn('model'); }

  // What a pane draws, and how far each vertex of it is from the truth, for those who ask.
  private bodyOf(pane: Pane): Body | null { return pane === 'truth' ? this.real : pane === 'other' ? this.second : this.model; }
  positionsIn(pane: Pane): Float32Array | null { return this.bodyOf(pane)?.positions ?? null; }
  normalsIn(pane: Pane): Float32Array | null { return this.bodyOf(pane)?.normals ?? null; }
  errorsIn(pane: Pane): Float32Array | null {
    const body = pane === 'truth' ? this.model : this.bodyOf(pane);
    return body && body.distances(this.hasModel ? this.truth : null);
  }

  // A second skin stands beside the first. Its positions and normals are to be written, and this called again.
  setOther(there: boolean) {
    if (!there && !this.second) return;
    if (there && !this.second && this.mesh && this.real) {
      this.second = new Body(this.mesh, this.mesh.triangles ? this.model!.geometry.getIndex() : null, this.textures);
      this.second.compareWith(this.real);
      this.second.scene.add(this.second.ground = this.ground.mesh());
      this.arrange();
    } else if (!there) {
      this.second?.free();
      this.second = null;
      this.arrange();
    }
    this.second?.changed('position', 'normal');
    if (this.second) this.second.stale = true;
    this.redraw();
  }

  // Called after the model's positions and normals were written, or there is no model.
  setModel(there: boolean) {
    const before = this.hasModel;
    this.hasModel = there;
    this.model?.changed('position', 'normal');
    if (this.model) this.model.stale = true;
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
    this.staleNormals = true;
    for (const body of [this.model, this.second]) if (body) body.stale = true;
    if (before !== (truth !== null)) this.arrange();
    this.redraw();
  }

  // Normals of the truth are computed on demand: playing only the model costs nothing extra.
  private staleNormals = false;

  private shadeTruth() {
    if (!this.staleNormals || !this.truth || !this.real || !this.mesh) return;
    this.staleNormals = false;
    if (this.asOne) smoothNormals(this.mesh.indices, this.asOne, this.truth, this.real.normals);
    this.real.changed('normal');
  }

  setScale(scale: number) {
    if (scale === this.scale) return;
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
    const { layout } = this.look;
    const together = layout === 'skins' ? (this.second ? 'skins' : 'side') : layout;
    this.arrangement = this.hasModel && (this.truth || together === 'skins') ? together : this.truth ? 'truth' : 'model';
    const wanted = this.mesh ? PANES[this.arrangement].filter((name) => name !== 'truth' || this.truth) : [];
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
  title(name: Pane, note: string, ...words: string[]) {
    const head = this.panes.get(name)?.querySelector('.pane-title');
    const names = (words.length ? words : [name]).map((word) => el('b', { data: { ink: word } }, TITLES[word] ?? word));
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
    if (this.framed) this.frame();
    const ratio = Math.min(devicePixelRatio, 2);
    if (this.size.width === width && this.size.height === height && this.size.ratio === ratio) return this.redraw();
    this.size = { width, height, ratio };
    this.finer = 1;
    this.renderer?.setPixelRatio(ratio);
    this.renderer?.setSize(width, height, false);
    this.draw(); // immediately: a resized canvas is black until then
  }

  // -- The camera

  // Until the user moves the camera, keeps the whole motion of the clip in view.
  keepInView() {
    const shown = this.hasModel ? this.positions : this.truth;
    if (!this.framed || !shown || !this.controls.enabled) return; // what is dragged stays under the pointer
    const now = boxOf(shown);
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

  // The points in the middle, as large as fits, from where the camera looks now.
  lookAtPoints(points: ArrayLike<number>) {
    const box = new Box3().setFromArray(points as number[]);
    if (box.isEmpty()) return;
    const slope = this.slope * Math.min(1, this.deep.aspect);
    const reach = Math.max(box.getSize(new Vector3()).length() / 2, 0.02 * this.box.getSize(new Vector3()).length());
    const offset = this.camera.position.clone().sub(this.controls.target).setLength(1.25 * reach / Math.sin(Math.atan(slope)));
    box.getCenter(this.controls.target);
    this.camera.position.copy(this.controls.target).add(offset);
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
      this.drawFiner(1);
      clearTimeout(this.resting);
      if (this.smoothAfter < Infinity) this.resting = window.setTimeout(() => this.drawFiner(2), this.smoothAfter);
    });
  }

  // With more pixels than there are: the browser blends them.
  drawFiner(times: number) {
    if (times !== this.finer) this.renderer?.setPixelRatio(this.size.ratio * times);
    this.finer = times;
    this.draw();
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
      else this.drawBody(this.bodyOf(name)!, name === 'difference');
    }
    this.drawnFrames++;
    this.element.dispatchEvent(new Event('drawn'));
  }

  private modeOf(body: Body, heat: boolean): number {
    if (heat) return HEAT;
    if (body === this.model && this.painted) return PAINT;
    return this.look.shading === 'normals' ? NORMALS : this.look.shading === 'textures' && body.parts.length ? TEXTURES : CLAY;
  }

  private drawBody(body: Body, heat: boolean, tint: [number, number, number] = [1, 1, 1], opacity = 1) {
    if (body === this.real) this.shadeTruth();
    const mode = this.modeOf(body, heat || (this.look.difference && body !== this.real && this.truth !== null));
    body.object.material = mode === TEXTURES ? body.parts : body.surface;
    for (const surface of body.surfaces()) {
      surface.uniforms.tint.value.set(...tint);
      surface.uniforms.opacity.value = opacity;
      surface.uniforms.scale.value = this.scale;
      surface.uniforms.pointSize.value = POINT * this.finer;
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
