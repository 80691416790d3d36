// face.ts: key points at work (Meyer & Anderson 2007): where they are on the face, and in which frames of a clip the
// rest could be reconstructed from them (hit), not at all (miss), or in part. The strip under the timeline is coloured
// accordingly; clicking it goes to that frame.

import * as THREE from 'three';
import type { App, Panel } from '../app';
import { el, section, toggle } from '../dom';
import type { FaceBox } from '../show';
import { onTheme } from '../theme';
import './panels.css';

export type Verdict = 'hit' | 'part' | 'blend' | 'miss';

export interface Verdicts {
  verdict: Verdict[];
  misfit: number[];
  error: number[] | null;
}

export const VERDICTS: Record<Verdict, { colour: string; text: string }> = {
  hit: { colour: '--hit', text: 'reconstructed from the key points alone' },
  part: { colour: '--part', text: 'parts of the face reconstructed from the key points' },
  blend: { colour: '--blend', text: 'a blend of the key points and the slow rig' },
  miss: { colour: '--miss', text: 'unlike anything in training: the slow rig is used' },
};

/** A disc with a dark rim, visible on light and dark skin. */
function disc(): THREE.Texture {
  const canvas = el('canvas', { width: 32, height: 32 });
  const pen = canvas.getContext('2d')!;
  for (const [radius, colour] of [[15, '#0009'], [11, '#fff']] as const) {
    pen.fillStyle = colour;
    pen.beginPath();
    pen.arc(16, 16, radius, 0, 7);
    pen.fill();
  }
  return new THREE.CanvasTexture(canvas);
}

class Face {
  private readonly strip = el('canvas', { className: 'strip', tabIndex: 0, role: 'slider', aria: { label: 'hits, blends and misses along the clip' } });
  private readonly counts = el('div', { className: 'verdict-counts' });
  private readonly now = el('p', { className: 'verdict-now', aria: { live: 'polite' } });
  private readonly note = el('p', { className: 'quiet' });
  private readonly jump: HTMLElement;
  private readonly keys: { row: HTMLElement };
  private readonly points: THREE.Points;
  private showKeys = true;
  private open = false;
  private verdicts: Verdicts | null = null;
  private turn = 0;

  constructor(element: HTMLElement, private readonly app: App) {
    const material = new THREE.PointsMaterial({ color: 0xffffff, map: disc(), alphaTest: 0.1, size: 9 * Math.min(devicePixelRatio, 2), sizeAttenuation: false, depthTest: true, transparent: true, toneMapped: false });
    this.points = new THREE.Points(new THREE.BufferGeometry(), material);
    this.points.frustumCulled = false;
    this.points.renderOrder = 5;
    this.points.name = 'key points';
    this.keys = toggle('Draw the key points', () => this.showKeys, (on) => { this.showKeys = on; this.place(); });
    const go = (label: string, step: number) => el('button', { type: 'button', className: 'tiny', on: { click: () => this.next(step) } }, label);
    this.jump = el('div', { className: 'buttons' }, go('Miss before', -1), go('Next miss', 1));
    element.classList.add('face');
    element.append(this.note, this.keys.row, section('This frame', this.now), section('Along the clip', this.counts, this.jump));
    const press = (event: PointerEvent) => this.goTo(Math.round(((event.clientX - this.strip.getBoundingClientRect().left) / this.strip.clientWidth) * (this.frames() - 1)));
    this.strip.addEventListener('pointerdown', (event) => { this.strip.setPointerCapture(event.pointerId); press(event); });
    this.strip.addEventListener('pointermove', (event) => { if (this.strip.hasPointerCapture(event.pointerId)) press(event); });
    this.strip.addEventListener('keydown', (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      event.preventDefault();
      event.stopPropagation();
      this.goTo(this.app.store.get().frame + step);
    });
    new ResizeObserver(() => this.draw()).observe(this.strip);
    onTheme(() => this.draw());
    app.on('subject', () => void this.begin());
    app.on('deformed', () => this.place());
    app.store.watch(['clip'], () => void this.begin());
    app.store.watch(['frame'], () => this.tell());
    void this.begin();
  }

  setOpen(on: boolean): void {
    this.open = on;
    this.place();
  }

  private box(): FaceBox | null {
    const subject = this.app.subject();
    return subject?.kind === 'face' ? subject.box : null;
  }

  private frames(): number {
    return this.verdicts?.verdict.length ?? 0;
  }

  private async begin(): Promise<void> {
    const turn = ++this.turn;
    const box = this.box();
    const clip = box?.clips[this.app.store.get().clip];
    this.verdicts = null;
    this.strip.remove();
    this.note.textContent = !box ? 'There are no key points here.' : `${box.keys.length} key points replace ${box.points} points${clip ? '' : '; there is no clip to test them on'}.`;
    if (clip?.verdicts) {
      try {
        const verdicts = await this.app.data.json<Verdicts>(clip.verdicts);
        if (turn !== this.turn) return;
        this.verdicts = verdicts;
        this.app.under.append(this.strip);
      } catch (thrown) {
        this.note.textContent = thrown instanceof Error ? thrown.message : String(thrown);
      }
    }
    this.count();
    this.tell();
    this.draw();
    this.place();
  }

  // -- On the face --------------------------------------------------------------------------------------------------

  private place(): void {
    const box = this.box();
    const { positions } = this.app.stage;
    this.points.visible = this.open && this.showKeys && !!box && !!positions;
    if (this.points.visible && box && positions) {
      const { normals } = this.app.stage;
      const lift = 0.002 * box.diagonal;
      const places = new Float32Array(3 * box.keys.length);
      box.keys.forEach((vertex, k) => {
        for (let c = 0; c < 3; c++) places[3 * k + c] = positions[3 * vertex + c] + lift * (normals?.[3 * vertex + c] ?? 0);
      });
      const { geometry } = this.points;
      const old = geometry.getAttribute('position');
      if (old?.count === box.keys.length) {
        (old.array as Float32Array).set(places);
        old.needsUpdate = true;
      } else geometry.setAttribute('position', new THREE.BufferAttribute(places, 3));
      const verdict = this.verdicts?.verdict[this.app.store.get().frame];
      (this.points.material as THREE.PointsMaterial).color.set(verdict ? this.colour(verdict) : '#ffffff');
      if (this.points.parent !== this.app.stage.overlay) this.app.stage.overlay.add(this.points);
    }
    this.app.stage.redraw();
  }

  private colour(verdict: Verdict): string {
    return getComputedStyle(this.now).getPropertyValue(VERDICTS[verdict].colour).trim();
  }

  // -- Along the clip -----------------------------------------------------------------------------------------------

  private goTo(frame: number): void {
    const last = this.frames() - 1;
    if (last >= 0) this.app.store.set({ playing: false, frame: Math.min(Math.max(frame, 0), last) });
  }

  private next(step: number): void {
    const { verdict } = this.verdicts ?? { verdict: [] };
    const from = this.app.store.get().frame;
    for (let i = 1; i <= verdict.length; i++) {
      const frame = (from + step * i + verdict.length * 2) % verdict.length;
      if (verdict[frame] === 'miss') return this.goTo(frame);
    }
  }

  private count(): void {
    const all = this.verdicts?.verdict ?? [];
    const rows = (Object.keys(VERDICTS) as Verdict[]).map((verdict) => {
      const count = all.filter((one) => one === verdict).length;
      return count || verdict !== 'part' ? el('div', { className: 'verdict-count', title: VERDICTS[verdict].text },
        el('span', { className: `dot ${verdict}` }), el('b', {}, String(count)), ` ${verdict}`) : null;
    });
    this.counts.replaceChildren(...rows.filter((row) => row !== null));
    this.jump.hidden = !all.includes('miss');
  }

  private tell(): void {
    const { frame } = this.app.store.get();
    const verdict = this.verdicts?.verdict[frame];
    this.now.textContent = '';
    if (!verdict || !this.verdicts) return;
    const { misfit, error } = this.verdicts;
    this.now.append(el('span', { className: `badge ${verdict}` }, verdict), ` ${VERDICTS[verdict].text}; `,
      `misfit ${misfit[frame]?.toPrecision(3) ?? '?'} (trusted up to 1)`, error?.[frame] === undefined ? '' : `, farthest from the truth ${error[frame].toPrecision(3)}`);
    this.strip.setAttribute('aria-valuenow', String(frame));
    this.strip.setAttribute('aria-valuemax', String(this.frames() - 1));
    this.strip.setAttribute('aria-valuetext', `frame ${frame}: ${verdict}`);
    this.draw();
    this.place();
  }

  private draw(): void {
    const ratio = devicePixelRatio;
    const width = Math.round(this.strip.clientWidth * ratio);
    const height = Math.round(this.strip.clientHeight * ratio);
    const { verdict } = this.verdicts ?? { verdict: [] };
    if (!width || !height || !verdict.length) return;
    this.strip.width = width;
    this.strip.height = height;
    const pen = this.strip.getContext('2d')!;
    const x = (frame: number) => Math.round((frame * width) / Math.max(verdict.length - 1, 1)); // as on the timeline
    verdict.forEach((one, frame) => {
      pen.fillStyle = this.colour(one);
      pen.fillRect(x(frame - 0.5), 0, x(frame + 0.5) - x(frame - 0.5), height);
    });
    pen.fillStyle = getComputedStyle(this.strip).color;
    pen.fillRect(x(this.app.store.get().frame) - ratio, 0, 2 * ratio, height);
  }
}

export const face: Panel = {
  id: 'face',
  title: 'Key points',
  key: 'k',
  suits: (subject) => subject?.kind === 'face',
  mount(element, app) {
    const panel = new Face(element, app);
    return { shown: () => panel.setOpen(true), hidden: () => panel.setOpen(false) };
  },
};
