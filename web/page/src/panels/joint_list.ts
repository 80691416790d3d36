// joint_list.ts: all joints by name, indented by depth in the skeleton, with a search field. One tab stop; arrow keys
// move up and down, as in list boxes.

import { el } from '../dom';
import type { Joint } from '../show';
import type { Picking } from './picking';

let lists = 0;

export class JointList {
  private readonly prefix = `joint-${lists++}-`;
  readonly element: HTMLElement;
  private readonly field: HTMLInputElement;
  private readonly list: HTMLUListElement;
  private readonly none = el('p', { className: 'quiet', role: 'status' });
  private items: HTMLLIElement[] = [];
  private joints: Joint[] = [];
  beyond: (joint: number) => boolean = () => false;

  constructor(private readonly picking: Picking) {
    this.field = el('input', { type: 'search', placeholder: 'find a joint', className: 'joint-search', aria: { label: 'find a joint' }, on: { input: () => this.filter() } });
    this.list = el('ul', { className: 'joint-list', role: 'listbox', tabIndex: 0, aria: { label: 'joints' } });
    this.element = el('div', { className: 'joints' }, this.field, this.none, this.list);
    this.list.addEventListener('keydown', (event) => this.key(event));
    this.field.addEventListener('keydown', (event) => {
      event.stopPropagation();
      if (event.key !== 'ArrowDown' && event.key !== 'Enter') return;
      event.preventDefault();
      const found = this.best();
      if (found < 0) return;
      this.list.focus();
      this.picking.pick(found);
      this.mark(); // it may be picked already, and out of sight
    });
  }

  show(joints: Joint[]): void {
    if (joints === this.joints) return;
    this.joints = joints;
    const depths: number[] = [];
    this.items = joints.map((joint, j) => {
      depths[j] = joint.parent < 0 ? 0 : depths[joint.parent] + 1;
      const item = el('li', { role: 'option', id: `${this.prefix}${j}`, on: {
        click: () => this.picking.pick(j), pointerenter: () => this.picking.hover(j), pointerleave: () => this.picking.hover(-1),
      } }, el('span', { className: 'joint-name' }, joint.name));
      item.style.setProperty('--depth', String(Math.min(depths[j], 12)));
      return item;
    });
    this.list.replaceChildren(...this.items);
    this.field.value = '';
    this.mark();
  }

  /** Marks the picked joint, and those rotated beyond their training range. */
  mark(): void {
    this.items.forEach((item, j) => {
      item.setAttribute('aria-selected', String(j === this.picking.joint));
      item.classList.toggle('beyond', this.beyond(j));
    });
    const item = this.items[this.picking.joint];
    if (item) {
      this.list.setAttribute('aria-activedescendant', item.id);
      this.reveal(item);
    } else {
      this.list.removeAttribute('aria-activedescendant');
    }
  }

  /** Scrolls the list only, not the page. */
  private reveal(item: HTMLElement): void {
    const top = item.offsetTop - this.list.offsetTop;
    if (top < this.list.scrollTop) this.list.scrollTop = top;
    else if (top + item.offsetHeight > this.list.scrollTop + this.list.clientHeight) this.list.scrollTop = top + item.offsetHeight - this.list.clientHeight;
  }

  private filter(): void {
    const wanted = this.field.value.trim().toLowerCase();
    this.element.classList.toggle('narrowed', wanted !== '');
    this.joints.forEach((joint, j) => { this.items[j].hidden = !joint.name.toLowerCase().includes(wanted); });
    this.none.textContent = this.best() < 0 ? `No joint has “${this.field.value.trim()}” in its name.` : '';
  }

  /** What Enter means: the joint of that name, else one that begins so, else the first that is left. -1: none is. */
  private best(): number {
    const wanted = this.field.value.trim().toLowerCase();
    const names = this.joints.map(({ name }) => name.toLowerCase());
    const found = [(name: string) => name === wanted, (name: string) => name.startsWith(wanted), (name: string) => name.includes(wanted)];
    return found.map((fits) => names.findIndex(fits)).find((j) => j >= 0) ?? -1;
  }

  private key(event: KeyboardEvent): void {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) this.go(step);
    else if (event.key === 'Home') this.go(1, -1);
    else if (event.key === 'End') this.go(-1, this.items.length);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  private go(step: number, from = this.picking.joint): void {
    for (let j = from + step; j >= 0 && j < this.items.length; j += step) {
      if (this.items[j].hidden) continue;
      this.picking.pick(j);
      return;
    }
  }
}
