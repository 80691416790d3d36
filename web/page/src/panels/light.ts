// light.ts: moves the light of a scene and relights it from a few key points (Meyer & Anderson 2007, section 8).
//
// Every position of the light is a request to the server; while one is pending only the latest position is kept, so the
// picture follows the pointer as fast as answers arrive. Coarse while moving, finer at rest. Where the key points are not
// trusted, all points are gathered when the light rests, as the soft cache does.

import type { App, Panel } from '../app';
import { el, section, toggle } from '../dom';
import type { LightBox } from '../show';
import { Gathering } from './gathering';
import { type Camera, project, unproject } from './lamp_camera';
import { type Answer, blend, put, readAnswer, trust } from './lamp_picture';
import './light.css';
import './panels.css';
import { rangeSlider, type RangeSlider } from './range_slider';

type Box = LightBox & { camera?: Camera; extent?: { low: number[]; high: number[] } };

const MOVING = 64; // paths per key point
const RESTING = 256;

/** How far a place is from the box of the training lights; 0 inside, up to rounding: as pelt_light_grid_beyond. */
export function beyondGrid(at: readonly number[], least: readonly number[], most: readonly number[]): number {
  const sides = at.map((x, i) => [Math.min(least[i]!, most[i]!), Math.max(least[i]!, most[i]!), x] as const);
  const out = Math.hypot(...sides.map(([low, high, x]) => Math.max(low - x, x - high, 0)));
  return out > 1e-4 * Math.hypot(...sides.map(([low, high]) => high - low)) ? out : 0;
}

class Light {
  private readonly stage: HTMLElement;
  private readonly picture = el('canvas', { className: 'relit', role: 'img', aria: { label: 'the scene, relit' } });
  private readonly full = el('canvas', { className: 'relit', role: 'img', aria: { label: 'the scene, all points gathered' } });
  private readonly marks = el('canvas', { className: 'marks', aria: { hidden: 'true' } });
  private readonly handle: HTMLButtonElement;
  private readonly title = el('b');
  private readonly badge = el('span', { className: 'badge' });
  private readonly misfit = el('span', { className: 'quiet' });
  private readonly beyond = el('p', { className: 'verdict beyond', hidden: true, aria: { live: 'polite' } });
  private readonly means = el('p', { className: 'quiet', aria: { live: 'polite' } });
  private readonly speed = el('span', { className: 'quiet speed' });
  private readonly progress = el('progress', { max: 1, aria: { label: 'Gathering' } });
  private readonly progressText = el('span', { className: 'quiet number' });
  private readonly stop: HTMLButtonElement;
  private readonly progressRow: HTMLElement;
  private readonly fullCaption = el('span', { className: 'quiet' });
  private readonly fullFigure: HTMLElement;
  private readonly note = el('p', { className: 'quiet' });
  private readonly sliders: RangeSlider[];
  private readonly fullRow: HTMLElement;
  private readonly gathering: Gathering;
  private box: Box | null = null;
  private index = -1; // the server's index of the box
  private at = [0, 0, 0];
  private keyed: Answer | null = null; // the latest picture from key points
  private gathered: Answer | null = null;
  private showKeys = true;
  private wantFull = false;
  private asked = false; // a request is pending
  private wanted: number | null = null; // paths per key of the next request; null: none
  private settle = 0;
  private resting = true; // the latest answer is that of a light at rest
  private readonly answers: number[] = []; // times of the latest ones
  private failed = ''; // the last message shown

  constructor(element: HTMLElement, private readonly app: App) {
    this.handle = el('button', { type: 'button', className: 'light-handle', title: 'Drag the light; hold Shift to move it up and down. Arrow keys, Page Up and Page Down move it too.', aria: { label: 'the light' } });
    this.stop = el('button', { type: 'button', className: 'tiny', on: { click: () => this.stopOrGoOn() } });
    this.progressRow = el('div', { className: 'gathering', hidden: true }, this.progress, this.progressText, this.stop);
    const frame = el('div', { className: 'relit-frame' }, this.picture, this.marks, this.handle);
    const fullFrame = el('div', { className: 'relit-frame' }, this.full);
    this.fullFigure = el('figure', { className: 'relit-figure', hidden: true }, fullFrame, el('figcaption', {}, el('b', {}, 'All points gathered'), this.fullCaption));
    this.stage = el('div', { className: 'light-stage' },
      el('figure', { className: 'relit-figure' }, frame, el('figcaption', {}, this.title, this.badge, this.speed, this.progressRow)), this.fullFigure);
    this.sliders = [0, 1, 2].map((i) => rangeSlider(['x', 'y', 'z'][i]!, '', 0.01, { least: -1e6, most: 1e6 }, (value) => { this.at[i] = value; this.moved(); }));
    const keys = toggle('Show the key points', () => this.showKeys, (on) => { this.showKeys = on; this.mark(); });
    const full = toggle('Full gather next to it', () => this.wantFull, (on) => this.setFull(on), 'All points are gathered once the light stops moving');
    this.fullRow = full.row;
    element.classList.add('light');
    element.append(this.note, section('Light', ...this.sliders.map((slider) => slider.row)),
      section('This light', el('p', {}, this.misfit), this.means, this.beyond), keys.row, this.fullRow);
    this.gathering = new Gathering((body, signal) => this.question(body, signal), (answer) => this.takeGathered(answer));
    this.takeDrags(frame);
    this.takeKeys();
    new ResizeObserver(() => this.mark()).observe(this.picture);
    app.on('subject', () => void this.begin());
    void this.begin();
  }

  private async begin(): Promise<void> {
    const subject = this.app.subject();
    const box = subject?.kind === 'light' ? (subject.box as Box) : null;
    if (!box) return this.leave();
    this.app.stage.cover(this.stage);
    this.grabFocus();
    if (box === this.box) return void this.mark();
    this.box = box;
    this.resting = true;
    this.index = subject!.index;
    this.at = [...box.light.at];
    this.answers.length = 0;
    this.failed = '';
    this.gathering.forget();
    const live = this.live();
    this.note.textContent = `${box.keys.length} key points light ${box.width * box.height} pixels.${live ? '' : ' Moving the light needs the server: run `pelt view BOX.keys`.'}`;
    this.fullRow.hidden = !live;
    this.handle.hidden = !box.camera || !live;
    this.sliders.forEach((slider, i) => {
      const { low, high } = this.reach();
      slider.shows({ least: box.light.least[i]!, most: box.light.most[i]! }, { least: low[i]!, most: high[i]! });
      slider.row.hidden = !live;
      slider.set(this.at[i]!);
    });
    this.grabFocus();
    try {
      this.take(readAnswer(await this.app.data.bytes(box.picture)), 0);
    } catch (thrown) {
      this.app.problem(thrown);
    }
    this.mark();
  }

  private leave(): void {
    this.box = null;
    clearTimeout(this.settle);
    this.gathering.forget();
  }

  /** Somebody lights this box: a server, or this page, which lacks the scenes of some boxes beside it. */
  private live(): boolean { return this.app.server && this.app.can.light && (!this.app.local || this.box?.file !== null); }

  // So that arrow keys move the light at once; what the user has chosen keeps the focus.
  private grabFocus(): void {
    if (document.activeElement === document.body && !this.handle.hidden) this.handle.focus({ preventScroll: true });
  }

  /** The range of the light: the scene; if unknown, that of the training lights. */
  private reach(): { low: number[]; high: number[] } {
    const { extent, light } = this.box!;
    if (!extent) return { low: light.least, high: light.most };
    const inset = extent.high.map((x, i) => 0.02 * (x - extent.low[i]!));
    return { low: extent.low.map((x, i) => x + inset[i]!), high: extent.high.map((x, i) => x - inset[i]!) };
  }

  // -- Moving -------------------------------------------------------------------------------------------------------

  private moved(): void {
    const { low, high } = this.reach();
    this.at = this.at.map((x, i) => Math.min(Math.max(x, low[i]!), high[i]!));
    this.sliders.forEach((slider, i) => slider.set(this.at[i]!));
    this.mark();
    this.gathering.forget();
    this.resting = false;
    this.ask(MOVING);
    clearTimeout(this.settle);
    this.settle = window.setTimeout(() => this.ask(RESTING), 250);
  }

  /** The axis perpendicular to the training plane, along which Shift moves: mostly the light's height. */
  private across(): number {
    const { least, most } = this.box!.light;
    const sizes = most.map((x, i) => x - least[i]!);
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
      const facing = [0, 1, 2].reduce((best, i) => (Math.abs(camera.axes[2]![i]!) > Math.abs(camera.axes[2]![best]!) ? i : best), 0);
      const place = event.shiftKey ? unproject(camera, width / height, point, facing, this.at[facing]!) : unproject(camera, width / height, point, across, this.at[across]!);
      if (event.shiftKey && place) this.at[across] = place[across]!;
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
  }

  // Before the page's own keys: arrows would go through frames, and there are none. Fields and tabs keep theirs.
  private takeKeys(): void {
    window.addEventListener('keydown', (event) => {
      if (!this.box || this.handle.hidden || event.ctrlKey || event.metaKey || event.altKey || document.querySelector('dialog[open]')) return;
      if (event.key === 'Escape' && this.gathering.state === 'running') {
        event.stopPropagation();
        return this.gathering.stop();
      }
      const target = event.target as HTMLElement;
      if (target !== this.handle && target.matches('input, select, textarea, [role=tab], [role=option], [role=radio], [role=slider], [role=menuitem]')) return;
      this.step(event);
    }, true);
  }

  private step(event: KeyboardEvent): void {
    const across = this.across();
    const [side, deep] = [0, 1, 2].filter((i) => i !== across) as [number, number];
    const step: Record<string, [number, number]> = { ArrowLeft: [side, this.towards(side)], ArrowRight: [side, -this.towards(side)], ArrowUp: [deep, 1], ArrowDown: [deep, -1], PageUp: [across, 1], PageDown: [across, -1] };
    const move = step[event.key];
    if (!move) return;
    event.preventDefault();
    event.stopPropagation();
    const { low, high } = this.reach();
    this.at[move[0]]! += move[1] * 0.03 * (high[move[0]]! - low[move[0]]! || 1);
    this.moved();
  }

  /** The direction along an axis that points left in the picture. */
  private towards(axis: number): number {
    return (this.box?.camera?.axes[0]![axis] ?? 1) > 0 ? -1 : 1;
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
        this.resting ||= samples === RESTING && this.wanted === null;
        this.take(answer, samples);
      } catch (thrown) {
        const said = thrown instanceof Error ? thrown.message : String(thrown);
        if (said !== this.failed) this.app.problem(thrown); // once, not at every step of a drag
        this.failed = said;
        this.resting ||= samples === RESTING && this.wanted === null; // what fails, fails at rest too
      }
    }
    this.asked = false;
  }

  /** Shows the answer to a request with this many paths per key point; 0: it came with the page. */
  private take(answer: Answer, samples: number): void {
    this.keyed = answer;
    this.misfit.textContent = `misfit ${answer.misfit.toPrecision(3)} (trusted up to 1)`;
    this.tellSpeed(answer, samples);
    this.compose();
    if (samples === RESTING && this.resting && this.needsGather()) void this.gathering.begin([...this.at]);
  }

  private tellSpeed(answer: Answer, samples: number): void {
    if (samples !== MOVING) return void (this.speed.textContent = samples ? `${answer.milliseconds.toFixed(1)} ms` : '');
    const now = performance.now();
    this.answers.push(now);
    while (now - this.answers[0]! > 1000) this.answers.shift();
    const rate = this.answers.length > 2 ? ((this.answers.length - 1) * 1000) / (now - this.answers[0]!) : 0;
    this.speed.textContent = `${answer.milliseconds.toFixed(1)} ms${rate ? `, ${rate.toFixed(0)} a second` : ''}`;
  }

  // -- All points ---------------------------------------------------------------------------------------------------

  private needsGather(): boolean {
    return this.live() && (this.wantFull || this.keyed?.verdict !== 'hit');
  }

  private setFull(on: boolean): void {
    this.wantFull = on;
    this.fullFigure.hidden = !on;
    if (!this.needsGather()) this.gathering.forget();
    else if (this.resting && (this.gathering.state === 'idle' || this.gathering.state === 'failed')) void this.gathering.begin([...this.at]);
    this.mark();
  }

  private stopOrGoOn(): void {
    if (this.gathering.state === 'running') this.gathering.stop();
    else void this.gathering.go([...this.at]);
  }

  private takeGathered(answer: Answer | null): void {
    if (answer) this.gathered = answer;
    else if (this.gathering.state === 'idle') this.gathered = null;
    if (answer) put(this.full, answer);
    this.compose();
  }

  /** What the soft cache makes of both pictures, and words for it. */
  private compose(): void {
    const { keyed, gathered, gathering, box } = this;
    if (!keyed || !box) return; // an answer may come after the scene was left
    const { verdict } = keyed;
    put(this.picture, gathered ? blend(keyed, gathered, trust(keyed.misfit)) : keyed);
    this.badge.className = `badge ${verdict}`;
    this.badge.textContent = verdict;
    this.title.textContent = !gathered || verdict === 'hit' ? 'From key points' : verdict === 'blend' ? 'Blended' : 'Gathered';
    this.means.textContent = keyed.pixels.every((x) => x < 2) ? 'No light reaches anything that the camera sees.' : this.meaning();
    const out = beyondGrid(this.at, box.light.least, box.light.most);
    this.beyond.hidden = !(out > 0) || (verdict === 'miss' && gathering.state === 'done');
    this.beyond.textContent = `The light is ${out.toPrecision(2)} outside the grid of training lights, where key points can be wrong without warning.`;
    const { state } = gathering;
    if (verdict !== 'hit' && state !== 'idle') this.speed.textContent = state === 'done' ? `${gathering.seconds.toFixed(2)} s` : '';
    const percent = `${Math.floor(100 * gathering.share)} %`;
    this.progressRow.hidden = !['running', 'stopped', 'failed'].includes(state);
    this.progress.value = gathering.share;
    this.progressText.textContent = { running: `gathering ${percent}`, stopped: `stopped at ${percent}`, failed: gathering.problem }[state as string] ?? '';
    this.stop.textContent = state === 'running' ? 'Stop' : 'Continue';
    this.stop.title = state === 'running' ? 'Stop gathering (Escape)' : 'Gather the rest';
    this.fullFigure.classList.toggle('old', !gathered);
    this.fullCaption.textContent = { running: percent, stopped: `stopped at ${percent}`, failed: gathering.problem, done: `${gathering.seconds.toFixed(2)} s`, idle: 'once the light stops moving' }[state];
  }

  private meaning(): string {
    const { verdict } = this.keyed!;
    if (verdict === 'hit') return 'The key points explain this light.';
    const what = verdict === 'blend' ? 'In between: the key points are blended with all points' : 'Unlike any training light: all points';
    if (!this.live()) return verdict === 'blend' ? 'In between: the key points are trusted in part.' : 'Unlike any training light: the key points are not trusted.';
    const { state } = this.gathering;
    if (state === 'idle') return `${what}${verdict === 'blend' ? ', which' : ''} will be gathered once it stops moving.`;
    if (state === 'running') return `${what}${verdict === 'blend' ? ', which' : ''} are being gathered.`;
    if (state === 'done') return `${what}${verdict === 'blend' ? ', which' : ''} were gathered.`;
    return `${verdict === 'blend' ? 'In between' : 'Unlike any training light'}, and not all points were gathered: the picture is unfinished.`;
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
      for (const [radius, colour] of [[2.6, '#000a'], [1.6, '#fff']] as const) {
        pen.fillStyle = colour;
        pen.beginPath();
        pen.arc(x, y, radius, 0, 7);
        pen.fill();
      }
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
