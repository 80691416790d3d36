// confidence_strip.ts: the error that a skin expects, along the clip below the timeline. Press it to go to a frame.

import type { App } from '../app';
import { el } from '../dom';
import { nice, short } from '../heat';

const SPACE = 'http://www.w3.org/2000/svg';
const TALL = 52; // pixels of the curve

function svg(tag: string, attributes: Record<string, string | number>, text = ''): SVGElement {
  const element = document.createElementNS(SPACE, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  element.textContent = text;
  return element;
}

export class ConfidenceStrip {
  private readonly curve = svg('svg', { class: 'expected', role: 'img' });
  private readonly holder: HTMLElement;
  private expected: ArrayLike<number> | null = null;

  constructor(private readonly app: App) {
    const drawn = el('div', { className: 'expected-holder' }, el('div', { className: 'expected-title' }, 'expected'));
    drawn.append(this.curve);
    this.holder = el('div', { className: 'expected-strip' }, drawn);
    const go = (event: PointerEvent) => {
      const { left, width } = this.curve.getBoundingClientRect();
      const last = (this.expected?.length ?? 0) - 1;
      if (last >= 0) app.store.set({ playing: false, frame: Math.round(Math.min(1, Math.max(0, (event.clientX - left) / width)) * last) });
    };
    this.curve.addEventListener('pointerdown', (event) => { this.curve.setPointerCapture((event as PointerEvent).pointerId); go(event as PointerEvent); });
    this.curve.addEventListener('pointermove', (event) => { if (this.curve.hasPointerCapture((event as PointerEvent).pointerId)) go(event as PointerEvent); });
    new ResizeObserver(() => this.draw()).observe(this.holder);
    app.store.watch(['frame'], () => this.draw());
  }

  show(expected: ArrayLike<number> | null): void {
    this.expected = expected;
    if (expected) this.app.under.append(this.holder);
    else this.holder.remove();
    this.draw();
  }

  private draw(): void {
    const width = this.curve.clientWidth;
    const values = this.expected && Array.from(this.expected);
    if (!values || !width) return;
    const { frame } = this.app.store.get();
    const most = Math.max(0, ...values.filter(Number.isFinite));
    const top = nice(most || 1e-9);
    const x = (i: number) => (i * width) / Math.max(values.length - 1, 1); // as on the timeline
    const y = (value: number) => 3 + (TALL - 6) * (1 - Math.min(value, top) / top);
    this.curve.setAttribute('viewBox', `0 0 ${width} ${TALL}`);
    this.curve.setAttribute('aria-label', `expected error along the clip, up to ${short(most)}`);
    this.curve.replaceChildren(
      ...[0, top].map((value) => svg('text', { class: 'tick y', x: -6, y: y(value) + 3.5 }, short(value))),
      svg('path', { class: 'expected-curve', d: values.map((value, i) => `${i ? 'L' : 'M'}${x(i).toFixed(1)} ${y(Number.isFinite(value) ? value : top).toFixed(1)}`).join('') }),
      svg('line', { class: 'head', x1: x(frame), x2: x(frame), y1: 0, y2: TALL }));
  }
}
