// face.ts: key points at work (Meyer & Anderson 2007): what the soft cache shows of a frame, how far it trusts the key points and
// where, and the controls of the rig, which can be pulled if there is one.

import type { App, Panel } from '../app';
import { el, section, segments, toggle } from '../dom';
import { short } from '../heat';
import type { FaceBox, Verdict, Verdicts } from '../show';
import { onTheme } from '../theme';
import './face.css';
import { FaceControls } from './face_controls';
import { FaceLive, readPulled } from './face_live';
import { FacePoints } from './face_points';
import { FaceStrip } from './face_strip';
import { colours, doubted, pointMisfits, trustScale } from './face_trust';
import './panels.css';
import { NAMES, VERDICTS } from './verdicts';

const RESULTS = [
  { value: '0', label: 'Cache on', title: 'The face with the soft cache (1)', means: 'Key points where they are trusted, the rig where they are not, and a blend in between.' },
  { value: '1', label: 'Key points alone', title: 'The face from key points alone, trusted or not (2)', means: 'All points come from the key points, trusted or not.' },
  { value: '2', label: 'Cache off', title: 'The face as the rig computes it (3)', means: 'The rig computes every point of every frame.' },
];

interface Now { verdict: Verdict; e: number; evaluated: number; regions: Float32Array; keys: Float32Array } // of what is shown

class Face {
  private readonly counts = el('div', { className: 'verdict-counts' });
  private readonly now = el('p', { className: 'verdict-now', aria: { live: 'polite' } });
  private readonly figures = el('dl', { className: 'pairs' });
  private readonly note = el('p', { className: 'quiet' });
  private readonly means = el('p', { className: 'quiet' });
  private readonly doubts = el('p', { className: 'quiet' });
  private readonly source = el('p', { className: 'quiet' });
  private readonly reset: HTMLButtonElement;
  private readonly jump: HTMLElement;
  private readonly along: HTMLElement;
  private readonly controlSection: HTMLElement;
  private readonly results: ReturnType<typeof segments>;
  private readonly points: FacePoints;
  private readonly strip: FaceStrip;
  private readonly controls: FaceControls;
  private readonly live: FaceLive;
  private showKeys = true;
  private showTrust = false;
  private painted = false;
  private open = false;
  private verdicts: Verdicts | null = null;
  private trust: Float32Array | null = null; // [frame][region, then key]
  private clipControls: Float32Array | null = null;
  private regions: { of: Uint32Array; weights: Float32Array } | null = null;
  private turn = 0;

  constructor(private readonly element: HTMLElement, private readonly app: App) {
    this.points = new FacePoints(app);
    this.strip = new FaceStrip(app);
    this.controls = new FaceControls((values) => this.pull(values));
    this.live = new FaceLive((body) => this.ask(body), (problem) => (problem ? this.app.problem(problem) : this.tookPulled()));
    this.results = segments('What you see', RESULTS, () => String(app.store.get().skin), (value) => app.store.set({ skin: Number(value) }));
    this.reset = el('button', { type: 'button', className: 'tiny', on: { click: () => this.leave(true) } }, 'Reset');
    const keys = toggle('Draw the key points', () => this.showKeys, (on) => { this.showKeys = on; this.place(); });
    const trust = toggle('Colour the face by trust', () => this.showTrust, (on) => { this.showTrust = on; this.place(); });
    const legend = el('div', { className: 'trust-legend', role: 'img', aria: { label: 'Colours show the misfit: key points are trusted up to 1 and not at all from 1.5' } },
      el('div', { className: 'trust-bar' }), el('div', { className: 'trust-ticks' }, el('span', {}, '0'), el('span', {}, '1 trusted'), el('span', {}, '1.5 not')));
    const go = (label: string, step: number) => el('button', { type: 'button', className: 'tiny', on: { click: () => this.next(step) } }, label);
    this.jump = el('div', { className: 'buttons' }, go('Miss before', -1), go('Next miss', 1));
    this.along = section('Along the clip', this.counts, this.jump);
    this.controlSection = section('Controls', this.source, this.controls.element, el('div', { className: 'buttons' }, this.reset));
    element.classList.add('face');
    element.append(this.note, section('What you see', this.results.group, this.means), section('This frame', this.now, this.figures),
      section('Trust', keys.row, trust.row, legend, this.doubts), this.controlSection, this.along);
    app.on('subject', () => void this.begin());
    app.on('deformed', () => this.place());
    app.store.watch(['clip'], () => void this.begin());
    app.store.watch(['frame'], () => { this.leave(false); this.tell(); });
    app.store.watch(['skin'], () => { this.choose(); this.tell(); });
    onTheme(() => this.place());
    void this.begin();
  }

  setOpen(on: boolean): void {
    this.open = on;
    this.tell();
    this.place();
  }

  private box(): FaceBox | null {
    const subject = this.app.subject();
    return subject?.kind === 'face' ? subject.box : null;
  }

  private async begin(): Promise<void> {
    const turn = ++this.turn;
    const box = this.box();
    this.live.leave();
    this.verdicts = this.trust = this.clipControls = this.regions = null;
    this.strip.show(null);
    if (!box) return void (this.note.textContent = 'No key points are open.');
    const clip = box.clips[this.app.store.get().clip];
    this.note.textContent = `${box.keys.length} key points replace ${box.points} points${clip ? '' : '; there is no clip to test them on'}.`;
    this.beginControls(box);
    this.choose();
    try {
      const [verdicts, trust, controls, regions] = await Promise.all([
        clip ? this.app.data.json<Verdicts>(clip.verdicts) : null, clip ? this.app.data.floats(clip.trust) : null,
        clip?.controls ? this.app.data.floats(clip.controls) : null, this.app.data.bytes(box.regions.file)]);
      if (turn !== this.turn) return;
      const count = 4 * box.points;
      this.regions = { of: new Uint32Array(regions, 0, count), weights: new Float32Array(regions, 4 * count, count) };
      [this.verdicts, this.trust, this.clipControls] = [verdicts, trust, controls];
      this.strip.show(verdicts);
    } catch (thrown) {
      if (turn === this.turn) this.note.textContent = thrown instanceof Error ? thrown.message : String(thrown);
    }
    this.count();
    this.tell();
    this.place();
    if (!clip && box.engine) this.pull(this.controls.values);
  }

  private choose(): void {
    const { skin } = this.app.store.get();
    this.results.update();
    this.means.textContent = RESULTS[skin]?.means ?? '';
    if (this.live.now) this.tookPulled();
  }

  // -- Controls -----------------------------------------------------------------------------------------------------

  private beginControls(box: FaceBox): void {
    this.controlSection.hidden = box.controls.length === 0;
    this.source.textContent = box.engine ? `Move them, and the rig computes the face: ${box.engine}.`
      : this.app.server ? 'As recorded. To move them, name the rig: pelt view … --engine.' : 'As recorded. Moving them needs `pelt view` and the rig.';
    this.controls.begin(box.controls, !!box.engine);
    this.reset.hidden = !box.engine;
  }

  private pull(values: number[]): void {
    if (!this.box()?.engine) return;
    this.app.store.set({ playing: false });
    this.live.pull(values, this.app.store.get().skin === 2);
    this.reset.disabled = false;
  }

  private async ask(body: object) {
    const subject = this.app.subject()!;
    const box = this.box()!;
    const answer = await this.app.data.ask('api/face', { method: 'POST', body: JSON.stringify({ box: subject.index, ...body }), headers: { 'Content-Type': 'application/json' } });
    return readPulled(await answer.arrayBuffer(), { points: box.points, regions: box.regions.count, keys: box.keys.length });
  }

  private tookPulled(): void {
    const { now, truth } = this.live;
    if (!now) return;
    const model = [now.cached, now.keyed, now.truth ?? truth ?? now.cached][this.app.store.get().skin] ?? now.cached;
    this.app.showFace({ model, truth });
    this.tell();
  }

  /** Back to the clip, or without one to rest. */
  private leave(shows: boolean): void {
    const was = this.live.active;
    this.live.leave();
    if (!shows || !was) return;
    this.app.showFace(null);
    this.tell();
    const box = this.box();
    if (box?.clips.length === 0) this.pull(box.controls.map(({ rest }) => rest));
  }

  // -- What is shown ------------------------------------------------------------------------------------------------

  private current(): Now | null {
    const box = this.box();
    const { frame } = this.app.store.get();
    if (!box) return null;
    if (this.live.now) return this.live.now;
    const verdict = this.verdicts?.verdict[frame];
    if (!verdict || !this.verdicts || !this.trust) return null;
    const each = box.regions.count + box.keys.length;
    const row = this.trust.subarray(frame * each, (frame + 1) * each);
    return { verdict, e: this.verdicts.e[frame]!, evaluated: this.verdicts.evaluated[frame]!, regions: row.subarray(0, box.regions.count), keys: row.subarray(box.regions.count) };
  }

  private place(): void {
    const box = this.box();
    const now = this.current();
    const paints = this.open && this.showTrust && !!now && !!this.regions;
    if (!box || !this.open) this.points.hide();
    else if (!this.showKeys) this.points.hide();
    else this.points.show(box.keys, box.diagonal, now ? colours(now.keys, trustScale(this.element).linear) : new Float32Array(3 * box.keys.length).fill(1));
    if (paints) this.app.stage.paint(colours(pointMisfits(this.regions!.of, this.regions!.weights, now.regions), trustScale(this.element).srgb));
    else if (this.painted) this.app.stage.paint(null);
    this.painted = paints;
    this.app.stage.redraw();
  }

  private tell(): void {
    if (!this.open) return;
    const box = this.box();
    const now = this.current();
    const { frame } = this.app.store.get();
    this.reset.disabled = !this.live.active;
    this.showControls(frame);
    this.now.replaceChildren(...(now ? [el('span', { className: `badge ${now.verdict}` }, now.verdict), ` ${VERDICTS[now.verdict]}`] : []));
    this.doubts.textContent = now && box ? `${doubted(now.regions)} of ${box.regions.count} regions and ${doubted(now.keys)} of ${box.keys.length} key points are not trusted.` : '';
    const rows = now && box ? this.pairs(box, now, frame) : [];
    this.figures.replaceChildren(...rows.flatMap(([name, value, title = '']) => [el('dt', { title }, name), el('dd', { className: 'number' }, value)]));
    this.place();
  }

  private pairs(box: FaceBox, now: Now, frame: number): [string, string, string?][] {
    const rows: [string, string, string?][] = [
      ['misfit', `${now.e.toPrecision(3)} (trusted up to 1)`, 'Misfit of the worst region, including the points checked besides the key points'],
      ['points computed', `${now.evaluated} of ${box.points}`, 'Key points, checked points, and regions that are not trusted'],
    ];
    const pulled = this.live.now;
    if (pulled) {
      rows.push(['with the cache', `${pulled.cacheMilliseconds.toFixed(1)} ms`]);
      if (pulled.rigMilliseconds !== null) rows.push(['the rig alone', `${pulled.rigMilliseconds.toFixed(1)} ms`]);
    } else if (this.verdicts) {
      rows.push(['largest error, cache', short(this.verdicts.cached.max[frame]!)], ['largest error, key points', short(this.verdicts.keyed.max[frame]!)]);
    }
    return rows;
  }

  private showControls(frame: number): void {
    const count = this.box()?.controls.length ?? 0;
    if (!this.live.active && this.clipControls && count) this.controls.set(this.clipControls.subarray(frame * count, (frame + 1) * count));
  }

  // -- Along the clip -----------------------------------------------------------------------------------------------

  private next(step: number): void {
    const { verdict } = this.verdicts ?? { verdict: [] };
    const from = this.app.store.get().frame;
    for (let i = 1; i <= verdict.length; i++) {
      const frame = (from + step * i + verdict.length * 2) % verdict.length;
      if (verdict[frame] === 'miss') return this.strip.goTo(frame);
    }
  }

  private count(): void {
    const all = this.verdicts?.verdict ?? [];
    this.along.hidden = !all.length;
    const rows = NAMES.map((verdict) => {
      const count = all.filter((one) => one === verdict).length;
      return count || ['hit', 'blend', 'miss'].includes(verdict) ? el('div', { className: 'verdict-count', title: VERDICTS[verdict] },
        el('span', { className: `dot ${verdict}` }), el('b', {}, String(count)), ` ${verdict}`) : null;
    });
    this.counts.replaceChildren(...rows.filter((row) => row !== null));
    this.jump.hidden = !all.includes('miss');
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
