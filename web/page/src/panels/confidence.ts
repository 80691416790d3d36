// confidence.ts: the errors that the skin itself expects, without any truth: as a heat map by region, as bars, and along the clip.

import type { App, Panel } from '../app';
import type { Skin } from 'pelt-wasm';
import type { Session } from '../session';
import { el } from '../dom';
import { nice, quantile, short } from '../heat';
import { HEAT_STOPS } from '../surface';
import { ConfidenceStrip } from './confidence_strip';
import './numbers.css';
import './confidence.css';

const stops = HEAT_STOPS.map((hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16) / 255));

/** The colour of the heat map for a share of its scale; what is beyond has the last one. */
export function heatColour(share: number): number[] {
  const at = Math.min(Math.max(Number.isFinite(share) ? share : 1, 0), 1) * (stops.length - 1);
  const low = Math.min(Math.floor(at), stops.length - 2);
  return [0, 1, 2].map((c) => stops[low]![c]! + (at - low) * (stops[low + 1]![c]! - stops[low]![c]!));
}

/** Colours [vertex][3] of regions with these errors. */
export function regionColours(of: Uint8Array, errors: ArrayLike<number>, scale: number): Float32Array {
  const colours = Array.from(errors, (error) => heatColour(error / scale));
  const out = new Float32Array(3 * of.length);
  of.forEach((region, v) => out.set(colours[region]!, 3 * v));
  return out;
}

class ConfidencePanel {
  private open = false;
  private skin: Skin | null = null;
  private of: Uint8Array = new Uint8Array();
  private scale = 0; // of the colours: fixed for a skin and a clip, so that frames can be compared
  private painted = false;
  private turn = 0;
  private readonly note = el('p', { className: 'quiet' });
  private readonly frame = el('p', { className: 'number expected-frame', role: 'status' });
  private readonly body = el('tbody');
  private readonly table: HTMLElement;
  private readonly strip: ConfidenceStrip;

  constructor(element: HTMLElement, private readonly app: Session) {
    this.table = el('table', { className: 'expected-regions', aria: { label: 'Expected errors by region' } },
      el('thead', {}, el('tr', {}, el('th', { scope: 'col' }, 'region'), el('th', { scope: 'col', className: 'number' }, 'expected'))), this.body);
    element.append(this.note, this.frame, this.table);
    this.strip = new ConfidenceStrip(app);
    app.on('skin', () => void this.begin());
    app.on('deformed', () => this.draw());
    app.store.watch(['clip'], () => void this.begin());
  }

  setOpen(on: boolean): void {
    this.open = on;
    void this.begin();
  }

  // Every frame of the clip, for the scale and for the strip.
  private async begin(): Promise<void> {
    const turn = ++this.turn;
    this.skin = this.open ? this.app.skin() : null;
    if (!this.skin?.regions.length) {
      this.strip.show(null);
      if (this.painted) this.app.stage.paint(null);
      this.painted = false;
      this.note.textContent = this.skin ? 'This skin cannot predict its own errors: it was fitted to too few examples, with --no-confidence, or by an older version of pelt.' : 'No skin is open.';
      this.body.replaceChildren();
      this.frame.textContent = '';
      this.table.hidden = true;
      return;
    }
    this.table.hidden = false;
    this.of = this.skin.vertexRegions();
    this.note.textContent = 'The errors that the skin expects, judging by how far the pose is from its examples; 19 of 20 frames stay below.';
    const along = await this.app.expectedAlong().catch((thrown: unknown) => { this.app.problem(thrown); return null; });
    if (turn !== this.turn) return;
    this.scale = along ? nice(quantile(along.regions, 0.98) || 1e-9) : 0;
    this.strip.show(along ? along.frames : null);
    this.draw();
  }

  private draw(): void {
    const now = this.open && this.skin && this.skin === this.app.skin() ? this.app.posed()?.confidence() : null;
    if (!now || !this.skin) return;
    const scale = this.scale || nice(Math.max(...now.regions) || 1e-9);
    this.app.stage.paint(regionColours(this.of, now.regions, scale));
    this.painted = true;
    this.frame.textContent = `this pose: ${short(now.frame)}; colours go up to ${short(scale)}`;
    const rows = Array.from(now.regions, (error, r) => ({ error, name: this.skin!.regions[r]! })).sort((a, b) => b.error - a.error || a.name.localeCompare(b.name));
    this.body.replaceChildren(...rows.map(({ error, name }) => {
      const bar = el('i', { className: 'region-bar' });
      bar.style.width = `${Math.min(100, (100 * error) / scale)}%`;
      return el('tr', {}, el('th', { scope: 'row' }, name, bar), el('td', { className: 'number' }, short(Number(error.toPrecision(2)))));
    }));
  }
}

export const confidence: Panel = {
  id: 'confidence',
  title: 'Confidence',
  key: 'u',
  suits: (subject) => subject?.kind === 'character' && subject.character.skins.length > 0,
  mount(element: HTMLElement, app: App) {
    const panel = new ConfidencePanel(element, app as Session);
    return { shown: () => panel.setOpen(true), hidden: () => panel.setOpen(false) };
  },
};
