// light.ts: moves the light of a scene and relights it from a few key points (Meyer & Anderson 2007, section 8).
//
// Every position of the light is a request to the server; while one is pending only the latest position is kept, so the
// picture follows the pointer as fast as answers arrive. Coarse while moving, finer at rest.

import type { App, Panel } from '../app';
import { el, section, toggle } from '../dom';
import type { LightBox } from '../show';
import './panels.css';
import { rangeSlider, type RangeSlider } from './range_slider';

interface Camera { eye: number[]; axes: number[][]; field_of_view: number }
type Box = LightBox & { camera?: Camera; extent?: { low: number[]; high: number[] } };

const MOVING = 64; // paths per key point
const RESTING = 256;
const VERDICTS = ['hit', 'blend', 'miss'] as const;
const MEANS = {
  hit: 'The key points explain this light.',
  blend: 'In between: key points and a full gather are blended.',
  miss: 'Unlike any training light: all points are gathered.',
};

interface Answer { width: number; height: number; verdict: number; misfit: number; milliseconds: number; pixels: Uint8Array }

export function readAnswer(bytes: ArrayBuffer): Answer {
  const view = new DataView(bytes);
  const width = bytes.byteLength >= 20 ? view.getUint32(0, true) : 0;
  const height = width ? view.getUint32(4, true) : 0;
  if (!width || bytes.byteLength !== 20 + 3 * width * height) throw new Error('The picture received is incomplete.');
  return { width, height, verdict: view.getUint32(8, true), misfit: view.getFloat32(12, true), milliseconds: view.getFloat32(16, true), pixels: new Uint8Array(bytes, 20) };
}

function put(canvas: HTMLCanvasElement, { width, height, pixels }: Answer): void {
  if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
  const image = new ImageData(width, height);
  const words = new Uint32Array(image.data.buffer);
  for (let i = 0, p = 0; i < words.length; i++, p += 3) words[i] = 0xff000000 | (pixels[p + 2] << 16) | (pixels[p + 1] << 8) | pixels[p];
  canvas.getContext('2d')!.putImageData(image, 0, 0);
}

const dot = (a: number[], b: number[]) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];

/** Projects a point of the scene to the picture, 0 to 1 from the top left; null: behind the camera. */
export function project(camera: Camera, aspect: number, place: number[]): [number, number] | null {
  const d = place.map((x, i) => x - camera.eye[i]);
  const depth = -dot(d, camera.axes[2]);
  if (depth <= 0) return null;
  const scale = depth * Math.tan(camera.field_of_view / 2);
  return [(1 + dot(d, camera.axes[0]) / (scale * aspect)) / 2, (1 - dot(d, camera.axes[1]) / scale) / 2];
}

/** The point under a pixel in the plane where coordinate `axis` is `at`; null: the ray does not hit it. */
export function unproject(camera: Camera, aspect: number, point: [number, number], axis: number, at: number): number[] | null {
  const tall = Math.tan(camera.field_of_view / 2);
  const across = (2 * point[0] - 1) * tall * aspect;
  const up = (1 - 2 * point[1]) * tall;
  const ray = [0, 1, 2].map((c) => across * camera.axes[0][c] + up * camera.axes[1][c] - camera.axes[2][c]);
  const far = (at - camera.eye[axis]) / ray[axis];
  return far > 0 && Number.isFinite(far) ? camera.eye.map((x, c) => x + far * ray[c]) : null;
}

class Light {
  private readonly stage: HTMLElement;
  private readonly picture = el('canvas', { className: 'relit', role: 'img', aria: { label: 'the scene, relit from key points' } });
  private readonly full = el('canvas', { className: 'relit', role: 'img', aria: { label: 'the scene, all points gathered' } });
  private readonly marks = el('canvas', { className: 'marks', aria: { hidden: 'true' } });
  private readonly handle: HTMLButtonElement;
  private readonly badge = el('span', { className: 'badge' });
  private readonly misfit = el('span', { className: 'quiet' });
  private readonly means = el('p', { className: 'quiet' });
  private readonly speed = el('span', { className: 'quiet speed' });
  private readonly fullCaption = el('span', { className: 'quiet' });
  private readonly fullFigure: HTMLElement;
  private readonly note = el('p', { className: 'quiet' });
  private readonly sliders: RangeSlider[];
  private readonly keysRow: HTMLElement;
  private readonly fullRow: HTMLElement;
  private box: Box | null = null;
  private index = -1; // the server's index of the box
  private at = [0, 0, 0];
  private showKeys = true;
  private wantFull = false;
  private asked = false; // a request is pending
  private wanted: number | null = null; // paths per key of the next request; null: none
  private gathers = false; // a full gather comes next: any other request would cancel it
  private settle = 0;
  private fullEnds: AbortController | null = null;
  private readonly answers: number[] = []; // times of the latest ones
  private failed = ''; // the last message shown

  constructor(element: HTMLElement, private readonly app: App) {
    this.handle = el('button', { type: 'button', className: 'light-handle', title: 'Drag the light; with Shift up and down. Arrow keys, Page Up and Page Down move it too.', aria: { label: 'the light' } });
    const frame = el('div', { className: 'relit-frame' }, this.picture, this.marks, this.handle);
    const fullFrame = el('div', { className: 'relit-frame' }, this.full);
    this.fullFigure = el('figure', { className: 'relit-figure', hidden: true }, fullFrame, el('figcaption', {}, el('b', {}, 'Full gather'), this.fullCaption));
    this.stage = el('div', { className: 'light-stage' },
      el('figure', { className: 'relit-figure' }, frame, el('figcaption', {}, el('b', {}, 'From key points'), this.badge, this.speed)), this.fullFigure);
    this.sliders = [0, 1, 2].map((i) => rangeSlider(['x', 'y', 'z'][i], '', 0.01, { least: -1e6, most: 1e6 }, (value) => { this.at[i] = value; this.moved(); }));
    this.keysRow = toggle('Show the key points', () => this.showKeys, (on) => { this.showKeys = on; this.mark(); }).row;
    const full = toggle('Full gather next to it', () => this.wantFull, (on) => { this.wantFull = on; this.fullFigure.hidden = !on; if (on && !this.asked) void this.gather(); else if (on) this.gathers = true; else this.fullEnds?.abort(); }, 'All points are gathered when the light rests');
    this.fullRow = full.row;
    element.classList.add('light');
    element.append(this.note, section('Light', ...this.sliders.map((slider) => slider.row)),
      section('This light', el('p', {}, this.misfit), this.means), this.keysRow, this.fullRow);
    this.takeDrags(frame);
    new ResizeObserver(() => this.mark()).observe(this.picture);
    app.on('subject', () => void this.begin());
    void this.begin();
  }

  private async begin(): Promise<void> {
    const subject = this.app.subject();
    const box = subject?.kind === 'light' ? (subject.box as Box) : null;
    if (!box) return void (this.box = null);
    this.app.stage.cover(this.stage);
    if (box === this.box) return void this.mark();
    this.box = box;
    this.index = subject!.index;
    this.at = [...box.light.at];
    this.answers.length = 0;
    this.failed = '';
    const live = this.app.server && this.app.can.light;
    this.note.textContent = `${box.keys.length} key points light ${box.width * box.height} pixels.${live ? '' : ' Moving the light needs the server: run `pelt view BOX.keys`.'}`;
    this.fullRow.hidden = !live;
    this.handle.hidden = !box.camera || !live;
    this.sliders.forEach((slider, i) => {
      const { low, high } = this.reach();
      const seen = { least: box.light.least[i], most: box.light.most[i] };
      slider.shows(seen, { least: low[i], most: high[i] });
      slider.row.hidden = !live;
      slider.set(this.at[i]);
    });
    try {
      this.take(readAnswer(await this.app.data.bytes(box.picture)), 0);
    } catch (thrown) {
      this.app.problem(thrown);
    }
    this.mark();
  }

  /** The range of the light: the scene; if unknown, that of the training lights. */
  private reach(): { low: number[]; high: number[] } {
    const { extent, light } = this.box!;
    if (!extent) return { low: light.least, high: light.most };
    const inset = extent.high.map((x, i) => 0.02 * (x - extent.low[i]));
    return { low: extent.low.map((x, i) => x + inset[i]), high: extent.high.map((x, i) => x - inset[i]) };
  }

  // -- Dragging -----------------------------------------------------------------------------------------------------

  private moved(): void {
    const { low, high } = this.reach();
    this.at = this.at.map((x, i) => Math.min(Math.max(x, low[i]), high[i]));
    this.sliders.forEach((slider, i) => slider.set(this.at[i]));
    this.mark();
    this.fullEnds?.abort();
    this.gathers = false;
    this.ask(MOVING);
    clearTimeout(this.settle);
    this.settle = window.setTimeout(() => {
      this.gathers = this.wantFull;
      this.ask(RESTING);
    }, 250);
  }

  /** The axis perpendicular to the training plane, along which Shift moves: mostly the light's height. */
  private across(): number {
    const { least, most } = this.box!.light;
    const sizes = most.map((x, i) => x - least[i]);
    return sizes.indexOf(Math.min(...sizes));
  }

  private takeDrags(frame: HTMLElement): void {
    const follow = (event: PointerEvent) => {
      const { camera, width, height } = this.box!;
      if (!camera) return;
      const rect = this.picture.getBoundingClientRect();
      const point: [number, number] = [(event.clientX - rect.left) / rect.width, (event.clientY - rect.top) / rect.height];
      const across = this.across();
      // Along the training plane; with Shift, in the plane facing the camera, using only the height.
      const facing = [0, 1, 2].reduce((best, i) => (Math.abs(camera.axes[2][i]) > Math.abs(camera.axes[2][best]) ? i : best), 0);
      const place = event.shiftKey ? unproject(camera, width / height, point, facing, this.at[facing]) : unproject(camera, width / height, point, across, this.at[across]);
      if (event.shiftKey && place) this.at[across] = place[across];
      else if (place) this.at = place;
      else return;
      this.moved();
    };
    frame.addEventListener('pointerdown', (event) => {
      if (this.handle.hidden) return;
      frame.setPointerCapture(event.pointerId);
      event.preventDefault();
      this.handle.focus();
      follow(event);
    });
    frame.addEventListener('pointermove', (event) => { if (frame.hasPointerCapture(event.pointerId)) follow(event); });
    this.handle.addEventListener('keydown', (event) => {
      const across = this.across();
      const [side, deep] = [0, 1, 2].filter((i) => i !== across);
      const step: Record<string, [number, number]> = { ArrowLeft: [side, this.towards(side)], ArrowRight: [side, -this.towards(side)], ArrowUp: [deep, 1], ArrowDown: [deep, -1], PageUp: [across, 1], PageDown: [across, -1] };
      const move = step[event.key];
      if (!move) return;
      event.preventDefault();
      event.stopPropagation();
      const { low, high } = this.reach();
      this.at[move[0]] += move[1] * 0.03 * (high[move[0]] - low[move[0]] || 1);
      this.moved();
    });
  }

  /** The direction along an axis that points left in the picture. */
  private towards(axis: number): number {
    return (this.box?.camera?.axes[0][axis] ?? 1) > 0 ? -1 : 1;
  }

  // -- Requests and answers ----------------------------------------------------------------------------------------

  private async question(body: object, signal?: AbortSignal): Promise<Answer> {
    const answer = await this.app.data.ask('api/light', { method: 'POST', body: JSON.stringify({ box: this.index, ...body }), headers: { 'Content-Type': 'application/json' }, signal });
    return readAnswer(await answer.arrayBuffer());
  }

  private ask(samples: number): void {
    this.wanted = samples;
    if (!this.asked) void this.pump();
  }

  private async pump(): Promise<void> {
    this.asked = true;
    while (this.wanted !== null && this.box) {
      const samples = this.wanted;
      const { box } = this;
      this.wanted = null;
      try {
        const answer = await this.question({ at: this.at, full: false, samples });
        if (box !== this.box) break;
        this.take(answer, samples);
      } catch (thrown) {
        const said = thrown instanceof Error ? thrown.message : String(thrown);
        if (said !== this.failed) this.app.problem(thrown); // once, not at every step of a drag
        this.failed = said;
      }
    }
    this.asked = false;
    if (this.gathers) void this.gather();
  }

  private async gather(): Promise<void> {
    this.gathers = false;
    this.fullEnds?.abort();
    const ends = new AbortController();
    this.fullEnds = ends;
    this.fullCaption.textContent = 'gathers…';
    this.fullFigure.classList.add('old');
    try {
      const answer = await this.question({ at: this.at, full: true, samples: 64 }, ends.signal);
      if (ends.signal.aborted) return;
      put(this.full, answer);
      this.fullFigure.classList.remove('old');
      this.fullCaption.textContent = `${(answer.milliseconds / 1000).toFixed(2)} s`;
    } catch (thrown) {
      if (!ends.signal.aborted) this.fullCaption.textContent = thrown instanceof Error ? thrown.message : '';
    }
  }

  /** Shows the answer to a request with this many paths per key point; 0: it came with the page. */
  private take(answer: Answer, samples: number): void {
    put(this.picture, answer);
    const verdict = VERDICTS[answer.verdict] ?? 'miss';
    this.badge.className = `badge ${verdict}`;
    this.badge.textContent = verdict;
    this.misfit.textContent = `misfit ${answer.misfit.toPrecision(3)} (trusted up to 1)`;
    this.means.textContent = answer.pixels.every((x) => x < 2) ? 'No light reaches anything that the camera sees.' : MEANS[verdict];
    if (samples !== MOVING) return void (this.speed.textContent = samples ? `${answer.milliseconds.toFixed(1)} ms` : '');
    const now = performance.now();
    this.answers.push(now);
    while (now - this.answers[0] > 1000) this.answers.shift();
    const rate = this.answers.length > 2 ? ((this.answers.length - 1) * 1000) / (now - this.answers[0]) : 0;
    this.speed.textContent = `${answer.milliseconds.toFixed(1)} ms${rate ? `, ${rate.toFixed(0)} a second` : ''}`;
  }

  // -- Marks --------------------------------------------------------------------------------------------------------

  private mark(): void {
    const { box } = this;
    const ratio = devicePixelRatio;
    const width = this.picture.clientWidth;
    const height = this.picture.clientHeight;
    if (!box || !width || !height) return;
    this.marks.width = Math.round(width * ratio);
    this.marks.height = Math.round(height * ratio);
    const pen = this.marks.getContext('2d')!;
    pen.scale(ratio, ratio);
    for (const key of this.showKeys ? box.keys : []) {
      const x = (((key % box.width) + 0.5) / box.width) * width;
      const y = ((Math.floor(key / box.width) + 0.5) / box.height) * height;
      pen.fillStyle = '#000a';
      pen.beginPath();
      pen.arc(x, y, 2.6, 0, 7);
      pen.fill();
      pen.fillStyle = '#fff';
      pen.beginPath();
      pen.arc(x, y, 1.6, 0, 7);
      pen.fill();
    }
    const place = box.camera && project(box.camera, box.width / box.height, this.at);
    if (!place) return;
    this.handle.style.left = `${100 * Math.min(Math.max(place[0], 0), 1)}%`;
    this.handle.style.top = `${100 * Math.min(Math.max(place[1], 0), 1)}%`;
  }
}

export const light: Panel = {
  id: 'light',
  title: 'Light',
  key: 'l',
  suits: (subject) => subject?.kind === 'light',
  mount(element, app) {
    new Light(element, app);
  },
};
