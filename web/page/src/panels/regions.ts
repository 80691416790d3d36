// regions.ts: errors joint by joint: the vertices that a joint moves most are its region.

import type { App, Panel } from '../app';
import type { Skin } from 'pelt-wasm';
import type { Session } from '../session';
import { numbered } from '../data';
import { el } from '../dom';
import { short } from '../heat';
import { dominantJoints, regionErrors, type Region } from '../vertices';
import './numbers.css';

type Order = 'name' | 'rms' | 'max' | 'clip';

class Regions {
  private open = false;
  private order: Order = 'clip';
  private skin: Skin | null = null;
  private joints: Int32Array = new Int32Array(0); // [vertex]
  private names: string[] = []; // [joint]
  private overClip: Float32Array | null = null;
  private shown: Region[] = [];
  private turn = 0;
  private due = 0;
  private readonly note = el('p', { className: 'quiet' });
  private readonly body = el('tbody');
  private readonly heads: Record<Order, HTMLElement>;
  private readonly table: HTMLElement;

  constructor(element: HTMLElement, private readonly app: Session) {
    const head = (order: Order, label: string, title: string) =>
      el('th', { scope: 'col', className: order === 'name' ? '' : 'number' }, el('button', { type: 'button', title, on: { click: () => this.sort(order) } }, label));
    this.heads = {
      name: head('name', 'region', 'The joint that moves these vertices most'),
      rms: head('rms', 'frame', 'Root mean square distance from the truth in this frame'),
      max: head('max', 'largest', 'Largest distance in this frame'),
      clip: head('clip', 'clip', 'Root mean square distance over all frames of the clip'),
    };
    this.table = el('table', { className: 'regions', aria: { label: 'Errors by region' } }, el('thead', {}, el('tr', {}, ...Object.values(this.heads))), this.body);
    element.append(this.note, this.table);
    app.on('skin', () => void this.begin());
    app.on('truth', () => void this.readClip());
    app.on('deformed', () => { this.due ||= window.setTimeout(() => { this.due = 0; this.draw(); }, 150); });
    this.sort('clip');
  }

  setOpen(on: boolean): void {
    this.open = on;
    if (on) void this.begin();
  }

  private async begin(): Promise<void> {
    if (!this.open) return;
    const skin = this.app.skin();
    if (skin !== this.skin) {
      this.skin = skin;
      this.wanted = '';
      this.joints = new Int32Array(0);
      if (skin) await this.findRegions(skin);
      if (skin !== this.skin) return; // another one was opened meanwhile
    }
    this.draw();
    await this.readClip();
  }

  // By the weights of the file, as `pelt measure` has them, so that all skins of a character have the same regions; those of the skin where there is no file.
  private async findRegions(skin: Skin): Promise<void> {
    const character = this.app.character();
    let joints = dominantJoints(skin);
    try {
      if (character?.regions) joints = await this.app.data.integers(character.regions, skin.vertexCount);
    } catch (thrown) {
      this.app.problem(thrown);
    }
    if (skin !== this.skin) return;
    this.joints = joints;
    this.names = (character?.regions ? character : skin).joints.map(({ name }) => name);
  }

  private wanted = ''; // the resource of the clip's errors

  private async readClip(): Promise<void> {
    const skin = this.app.skinNow();
    const { clip } = this.app.store.get();
    const name = this.open && skin?.vertices && this.app.clips()[clip]?.truth ? numbered(skin.vertices, clip) : '';
    if (name === this.wanted) return;
    this.wanted = name;
    this.overClip = null;
    const turn = ++this.turn;
    if (!name) return this.draw();
    try {
      const errors = await this.app.data.floats(name);
      if (turn !== this.turn) return;
      this.overClip = errors;
    } catch (thrown) {
      this.app.problem(thrown);
    }
    this.draw();
  }

  private sort(order: Order): void {
    this.order = order;
    for (const [name, head] of Object.entries(this.heads)) head.setAttribute('aria-sort', name !== order ? 'none' : name === 'name' ? 'ascending' : 'descending');
    this.draw();
  }

  private name(region: Region): string { return this.names[region.joint] ?? 'no joint'; }

  private draw(): void {
    if (!this.open) return;
    const { stage, pose } = this.app;
    const skin = this.app.skin() === this.skin ? this.skin : null;
    this.shown = skin ? regionErrors(this.joints, stage.truth ? stage.errors : null, this.overClip) : [];
    const key = (region: Region) => (this.order === 'name' ? 0 : region[this.order] ?? -1);
    this.shown.sort((a, b) => key(b) - key(a) || this.name(a).localeCompare(this.name(b)));
    this.table.hidden = !this.shown.length;
    this.note.textContent = !skin ? 'No skin is open.'
      : pose.pulled ? 'The pose was changed, so there is no truth for it, only errors over the clip.'
        : !stage.truth ? 'This clip has no truth, so regions have no errors. Click one to look at it.'
          : 'Each region is what one joint moves most. Click one to look at it.';
    const most = Math.max(0, ...this.shown.map((region) => region.clip ?? region.rms ?? 0));
    const focused = document.activeElement instanceof HTMLElement && this.body.contains(document.activeElement) ? document.activeElement.dataset.joint : undefined;
    this.body.replaceChildren(...this.shown.map((region) => this.row(region, most)));
    if (focused !== undefined) this.body.querySelector<HTMLElement>(`button[data-joint="${focused}"]`)?.focus();
  }

  private row(region: Region, most: number): HTMLElement {
    const value = (number: number | null) => el('td', { className: 'number' }, number === null ? '–' : short(Number(number.toPrecision(2))));
    const bar = el('i', { className: 'region-bar' });
    bar.style.width = `${most > 0 ? (100 * (region.clip ?? region.rms ?? 0)) / most : 0}%`;
    return el('tr', { on: { click: () => this.lookAt(region) } },
      el('th', { scope: 'row', title: `${this.name(region)}: ${region.vertices.length} vertices` },
        el('button', { type: 'button', className: 'region', data: { joint: String(region.joint) } }, this.name(region)), bar),
      value(region.rms), value(region.max), value(region.clip));
  }

  private lookAt(region: Region): void {
    const { positions } = this.app.stage;
    if (!positions) return;
    this.app.stage.lookAtPoints(region.vertices.flatMap((v) => [positions[3 * v]!, positions[3 * v + 1]!, positions[3 * v + 2]!]));
  }
}

export const regions: Panel = {
  id: 'regions',
  title: 'Regions',
  key: 'r',
  suits: (subject) => subject?.kind === 'character' && subject.character.skins.length > 0,
  mount(element: HTMLElement, app: App) {
    const panel = new Regions(element, app as Session);
    return { shown: () => panel.setOpen(true), hidden: () => panel.setOpen(false) };
  },
};
