// face_strip.ts: the misfit along a clip, and below it the verdict of every frame. Press the strip to go to a frame.

import type { App } from '../app';
import { el } from '../dom';
import type { Verdict, Verdicts } from '../show';
import { onTheme } from '../theme';
import { topOf } from './face_trust';

const SPACE = 'http://www.w3.org/2000/svg';
const TALL = 52; // pixels of the curve

function svg(tag: string, attributes: Record<string, string | number>, text = ''): SVGElement {
  const element = document.createElementNS(SPACE, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  element.textContent = text;
  return element;
}

export class FaceStrip {
  private readonly curve = svg('svg', { class: 'misfit', role: 'img' });
  private readonly strip = el('canvas', { className: 'strip', tabIndex: 0, role: 'slider', aria: { label: 'hits, blends and misses along the clip' } });
  private readonly holder: HTMLElement;
  private verdicts: Verdicts | null = null;

  constructor(private readonly app: App) {
    const heading = el('div', { className: 'misfit-title' }, 'misfit');
    const drawn = el('div', { className: 'misfit-holder' }, heading);
    drawn.append(this.curve);
    this.holder = el('div', { className: 'face-strip' }, drawn, this.strip);
    const at = (event: PointerEvent) => Math.round(((event.clientX - this.strip.getBoundingClientRect().left) / this.strip.clientWidth) * (this.frames() - 1));
    for (const element of [this.strip, this.curve] as (HTMLElement | SVGElement)[]) {
      element.addEventListener('pointerdown', (event) => { element.setPointerCapture((event as PointerEvent).pointerId); this.goTo(at(event as PointerEvent)); });
      element.addEventListener('pointermove', (event) => { if (element.hasPointerCapture((event as PointerEvent).pointerId)) this.goTo(at(event as PointerEvent)); });
    }
    this.strip.addEventListener('keydown', (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      event.preventDefault();
      event.stopPropagation();
      this.goTo(this.app.store.get().frame + step);
    });
    new ResizeObserver(() => this.draw()).observe(this.strip);
    onTheme(() => this.draw());
    app.store.watch(['frame'], () => this.draw());
  }

  show(verdicts: Verdicts | null): void {
    this.verdicts = verdicts;
    if (verdicts) this.app.under.append(this.holder);
    else this.holder.remove();
    this.draw();
  }

  goTo(frame: number): void {
    const last = this.frames() - 1;
    if (last >= 0) this.app.store.set({ playing: false, frame: Math.min(Math.max(frame, 0), last) });
  }

  private frames(): number { return this.verdicts?.verdict.length ?? 0; }

  private draw(): void {
    const width = this.strip.clientWidth;
    if (!this.verdicts || !width) return;
    const { frame } = this.app.store.get();
    const verdict = this.verdicts.verdict[frame];
    this.strip.setAttribute('aria-valuenow', String(frame));
    this.strip.setAttribute('aria-valuemax', String(this.frames() - 1));
    this.strip.setAttribute('aria-valuetext', `frame ${frame}: ${verdict}`);
    this.drawCurve(width, frame);
    this.drawStrip(frame);
  }

  private drawCurve(width: number, frame: number): void {
    const { e } = this.verdicts!;
    const top = topOf(e);
    const x = (i: number) => (i * width) / Math.max(e.length - 1, 1); // as on the timeline
    const y = (value: number) => 3 + (TALL - 6) * (1 - Math.min(value, top) / top);
    this.curve.setAttribute('viewBox', `0 0 ${width} ${TALL}`);
    this.curve.setAttribute('aria-label', `misfit along the clip, up to ${Math.max(...e).toPrecision(3)}; key points are trusted up to 1`);
    this.curve.replaceChildren(
      ...[[1, 'trusted up to 1'], [1.5, 'not from 1.5']].map(([value, words]) => {
        const line = svg('line', { class: `limit${value === 1 ? '' : ' end'}`, x1: 0, x2: width, y1: y(Number(value)), y2: y(Number(value)) });
        line.append(svg('title', {}, String(words)));
        return line;
      }),
      ...[1, top].map((value) => svg('text', { class: 'tick y', x: -6, y: y(value) + 3.5 }, String(value))),
      svg('path', { class: 'misfit-curve', d: e.map((value, i) => `${i ? 'L' : 'M'}${x(i).toFixed(1)} ${y(Number.isFinite(value) ? value : top).toFixed(1)}`).join('') }),
      svg('line', { class: 'head', x1: x(frame), x2: x(frame), y1: 0, y2: TALL }));
  }

  private drawStrip(frame: number): void {
    const ratio = devicePixelRatio;
    const width = Math.round(this.strip.clientWidth * ratio);
    const height = Math.round(this.strip.clientHeight * ratio);
    const { verdict } = this.verdicts!;
    if (!width || !height) return;
    this.strip.width = width;
    this.strip.height = height;
    const pen = this.strip.getContext('2d')!;
    const style = getComputedStyle(this.strip);
    const x = (i: number) => Math.round((i * width) / Math.max(verdict.length - 1, 1));
    verdict.forEach((one: Verdict, i) => {
      pen.fillStyle = style.getPropertyValue(`--${one}`).trim();
      pen.fillRect(x(i - 0.5), 0, x(i + 0.5) - x(i - 0.5), height);
    });
    pen.fillStyle = style.color;
    pen.fillRect(x(frame) - ratio, 0, 2 * ratio, height);
  }
}
