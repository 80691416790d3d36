// bars.ts: the coefficients of a pose as bars against their training ranges: the pale part is that range, and a bar
// changes colour beyond it. One canvas, because there can be a thousand.

import { el } from '../dom';
import { onTheme } from '../theme';

export interface Ranges { least: Float32Array; most: Float32Array }

export class Bars {
  readonly element: HTMLElement;
  private readonly canvas: HTMLCanvasElement;
  private readonly readout = el('p', { className: 'quiet readout' });
  private values: ArrayLike<number> = [];
  private ranges: Ranges | null = null;
  private names: string[] = [];
  private at = -1;

  constructor(label: string) {
    this.canvas = el('canvas', { className: 'bars', tabIndex: 0, role: 'img', aria: { label } });
    this.element = el('div', {}, this.canvas, this.readout);
    this.canvas.addEventListener('pointermove', (event) => {
      const box = this.canvas.getBoundingClientRect();
      this.point(Math.floor(((event.clientX - box.left) / box.width) * this.values.length));
    });
    for (const end of ['pointerleave', 'blur']) this.canvas.addEventListener(end, () => this.point(-1));
    this.canvas.addEventListener('keydown', (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      event.preventDefault();
      event.stopPropagation();
      this.point(Math.min(Math.max(this.at + step, 0), this.values.length - 1));
    });
    new ResizeObserver(() => this.draw()).observe(this.canvas);
    onTheme(() => this.draw());
  }

  show(values: ArrayLike<number>, ranges: Ranges | null, names: string[]): void {
    this.values = values;
    this.ranges = ranges;
    this.names = names;
    this.draw();
    this.say();
  }

  private point(index: number): void {
    if (index === this.at) return;
    this.at = index >= 0 && index < this.values.length ? index : -1;
    this.draw();
    this.say();
  }

  private say(): void {
    const { at, ranges, values } = this;
    if (at < 0) {
      const over = ranges ? Array.from({ length: values.length }, (_, i) => i).filter((i) => this.isBeyond(i)).length : 0;
      this.readout.textContent = `${values.length} coefficients${over ? `, ${over} beyond what training reached` : ''}`;
      return;
    }
    const seen = ranges ? ` (training: ${ranges.least[at].toPrecision(3)} to ${ranges.most[at].toPrecision(3)})` : '';
    this.readout.textContent = `${at}${this.names[at] ? `, ${this.names[at]}` : ''}: ${values[at].toPrecision(4)}${seen}`;
  }

  private isBeyond(i: number): boolean {
    if (!this.ranges) return false;
    const slack = 1e-3 * (this.ranges.most[i] - this.ranges.least[i]) + 1e-9;
    return this.values[i] > this.ranges.most[i] + slack || this.values[i] < this.ranges.least[i] - slack;
  }

  private draw(): void {
    const { canvas, values, ranges } = this;
    const ratio = devicePixelRatio;
    const width = Math.round(canvas.clientWidth * ratio);
    const height = Math.round(canvas.clientHeight * ratio);
    if (!width || !height) return;
    if (canvas.width !== width) canvas.width = width;
    if (canvas.height !== height) canvas.height = height;
    const pen = canvas.getContext('2d')!;
    const style = getComputedStyle(canvas);
    const colour = (name: string, otherwise: string) => style.getPropertyValue(name).trim() || otherwise;
    const [bar, over, pale, point] = [colour('--bar', '#4aa3ff'), colour('--beyond', '#ff9a3c'), colour('--bar-seen', '#8886'), colour('--text', '#fff')];
    pen.clearRect(0, 0, width, height);
    const each = width / Math.max(values.length, 1);
    const thick = Math.max(each - (each > 4 * ratio ? ratio : 0), 0.5);
    for (let i = 0; i < values.length; i++) {
      // Every coefficient has its own scale: its training range fills two thirds of half the height.
      const most = ranges ? Math.max(Math.abs(ranges.least[i]), Math.abs(ranges.most[i])) : Math.abs(values[i]);
      const y = (value: number) => height / 2 - (most > 0 ? Math.max(-1, Math.min(1, value / (1.5 * most))) : 0) * (height / 2);
      if (ranges) {
        pen.fillStyle = pale;
        pen.fillRect(i * each, y(ranges.most[i]), thick, Math.max(y(ranges.least[i]) - y(ranges.most[i]), 1));
      }
      pen.fillStyle = i === this.at ? point : this.isBeyond(i) ? over : bar;
      pen.fillRect(i * each, Math.min(y(values[i]), height / 2), thick, Math.max(Math.abs(y(values[i]) - height / 2), ratio));
    }
  }
}
