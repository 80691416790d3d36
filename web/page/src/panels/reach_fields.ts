// reach_fields.ts: the reach in numbers: where the picked joint is, how many bones follow, and whether it got there. What
// the arrows in the scene do, for the keyboard.

import { el } from '../dom';
import type { History } from '../history';
import type { Handles } from './handles';
import type { Picking } from './picking';
import { placeOf } from './pose';
import type { Triple } from './rotation';

const MOST = 12;
const text = (x: number) => String(Number(x.toPrecision(4)));

export class ReachFields {
  readonly element: HTMLElement;
  private readonly fields: HTMLInputElement[];
  private readonly bones: HTMLSelectElement;
  private readonly verdict = el('p', { className: 'reach-says', role: 'status' });
  private readonly row: HTMLElement;
  private typing = false; // the fields are where the joint should go, not where it is

  constructor(private readonly handles: Handles, private readonly picking: Picking, history: History) {
    this.fields = ['x', 'y', 'z'].map((axis) => el('input', {
      type: 'number', className: 'reach-at', step: 'any', aria: { label: `${axis} of the joint` }, on: { input: () => this.take(), keydown: (event) => this.key(event) },
    }));
    this.bones = el('select', { aria: { label: 'Bones that follow' }, on: { change: () => { handles.bones = Number(this.bones.value); handles.missing = null; this.update(); handles.place(); } } });
    this.row = el('div', { className: 'reach-row' }, ...this.fields.flatMap((field, i) => [el('span', {}, 'xyz'[i]), field]), this.bones);
    this.row.addEventListener('focusout', ({ relatedTarget }) => {
      if (this.row.contains(relatedTarget as Node | null)) return;
      this.typing = false;
      this.update();
    });
    picking.onChange(() => { this.typing = false; });
    history.onMove(() => { this.typing = false; handles.missing = null; this.update(); });
    this.element = el('div', { className: 'reach', hidden: true }, this.row, this.verdict);
  }

  update(): void {
    const { handles } = this;
    this.element.hidden = handles.grip !== 'reach';
    if (this.element.hidden) return;
    const above = handles.limb(MOST).length;
    this.row.hidden = above < 2;
    this.verdict.classList.toggle('beyond', Boolean(handles.missing));
    this.verdict.textContent = above < 2 ? 'Reaching needs two bones above the joint: select a hand, a foot, or something they carry.'
      : handles.missing === null ? 'Drag the arrows in the scene, or type the position of the joint.'
        : handles.missing ? `cannot reach: stays ${text(handles.missing)} away` : 'reached';
    if (above < 2) return;
    if (this.bones.options.length !== above - 1)
      this.bones.replaceChildren(...Array.from({ length: above - 1 }, (_, i) => el('option', { value: String(i + 2) }, `${i + 2} bones`)));
    this.bones.value = String(Math.min(handles.bones, above));
    placeOf(this.picking.globals, this.picking.joint).forEach((x, i) => { if (!this.typing) this.fields[i].value = text(x); });
  }

  private take(): void {
    const place = this.fields.map((field) => field.valueAsNumber);
    this.typing = true;
    if (place.every(Number.isFinite)) this.handles.reach(place as Triple);
  }

  /** Steps of a hundredth of the limb. */
  private key(event: KeyboardEvent): void {
    event.stopPropagation();
    const steps = { ArrowUp: 1, ArrowDown: -1, PageUp: 10, PageDown: -10 }[event.key];
    if (!steps || event.altKey || event.ctrlKey) return;
    event.preventDefault();
    const field = event.target as HTMLInputElement;
    const { globals, joint } = this.picking;
    const [top] = this.handles.limb();
    const [a, b] = [placeOf(globals, top), placeOf(globals, joint)];
    const long = Math.hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]) || 1;
    field.value = text(field.valueAsNumber + (steps * long) / 100);
    this.take();
  }
}
