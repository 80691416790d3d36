// face_controls.ts: a slider for every control of a rig; the blue part is its range in training.

import { el } from '../dom';
import type { Control } from '../show';
import { rangeSlider, type RangeSlider } from './range_slider';

const MARGIN = 0.5; // of the range, beyond either end: where key points were never trained

export class FaceControls {
  readonly element: HTMLElement;
  private readonly list = el('div', { className: 'control-list' });
  private readonly find = el('input', { type: 'search', className: 'joint-search', placeholder: 'Find a control', aria: { label: 'Find a control' }, on: { input: () => this.filter() } });
  private readonly none = el('p', { className: 'quiet', hidden: true }, 'No control has this in its name.');
  private sliders: RangeSlider[] = [];
  private controls: Control[] = [];
  values: number[] = [];

  constructor(private readonly pulled: (values: number[]) => void) {
    this.find.addEventListener('keydown', (event) => event.stopPropagation());
    this.element = el('div', {}, this.find, this.list, this.none);
  }

  begin(controls: Control[], live: boolean): void {
    this.controls = controls;
    this.values = controls.map(({ rest }) => rest);
    this.sliders = controls.map(({ name, least, most }, i) => {
      const slider = rangeSlider(name, '', 0.01, { least: -1e6, most: 1e6 }, (value) => {
        this.values[i] = value;
        this.pulled([...this.values]);
      });
      const more = MARGIN * (most - least || 1);
      slider.shows({ least, most }, { least: least - more, most: most + more });
      slider.row.title = name;
      slider.input.disabled = slider.field.disabled = !live;
      return slider;
    });
    this.list.replaceChildren(...this.sliders.map(({ row }) => row));
    this.set(this.values);
    this.filter();
  }

  set(values: ArrayLike<number>): void {
    this.values = Array.from(values);
    this.sliders.forEach((slider, i) => slider.set(this.values[i] ?? 0));
  }

  private filter(): void {
    const word = this.find.value.trim().toLowerCase();
    this.sliders.forEach(({ row }, i) => { row.hidden = !this.controls[i]!.name.toLowerCase().includes(word); });
    this.none.hidden = !this.sliders.length || this.sliders.some(({ row }) => !row.hidden);
  }
}
