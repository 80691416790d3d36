// inside.ts: what a skin consists of: the weights of a joint, joint supports and eigendisplacements (EigenSkin, figures
// 3 and 5), driven joints (Mohr & Gleicher), and the coefficients of a pose.

import type { App, Panel } from '../app';
import type { Pose, Skin } from 'pelt-wasm';
import { numbered } from '../data';
import { el, section, segments, toggle } from '../dom';
import type { Character } from '../show';
import './panels.css';
import { Adding } from './adding';
import { Bars, type Ranges } from './bars';
import { displacementColours, hueColour, supportColours, weightColours } from './colours';
import { DrivenFrames } from './driven';
import { JointList } from './joint_list';
import { pickingOf, type Picking } from './picking';
import { STRIDE } from './pose';
import { trainingClips } from './pull';
import { rangeSlider } from './range_slider';

interface Support {
  joints: number[];
  name: string;
  kind: string;
  singular_values: number[] | null;
  points: number;
  weights: string;
  coefficients: number[];
}

interface InsideData {
  supports: Support[];
  displacements: string | null;
}

type Paint = 'nothing' | 'weights' | 'support' | 'supports' | 'shape';

const MOST_SLIDERS = 24; // per support: nobody needs more

/** The range of every coefficient over frames of the training clips, at most 300 of them. */
async function coefficientRanges(app: App, character: Character, skin: Skin): Promise<Ranges | null> {
  const { clips } = trainingClips(character, app.store.get().skin);
  const frames = clips.reduce((sum, clip) => sum + clip.frames, 0);
  const count = app.posed()?.coefficients.length ?? 0;
  if (!frames || !count) return null;
  const places = character.joints.map((joint) => skin.findJoint(joint.name));
  const every = Math.ceil(frames / 300);
  const ranges = { least: new Float32Array(count), most: new Float32Array(count) };
  const files = await Promise.all(clips.map((clip) => app.data.floats(clip.poses)));
  const controls = await Promise.all(clips.map((clip) => (clip.controls ? app.data.floats(clip.controls) : null)));
  if (app.skin() !== skin) return null;
  const pose = skin.createPose();
  const long = STRIDE * character.joints.length;
  clips.forEach((clip, c) => {
    for (let frame = 0; frame < clip.frames; frame += every) {
      places.forEach((to, j) => { if (to >= 0) pose.locals.set(files[c].subarray(frame * long + STRIDE * j, frame * long + STRIDE * (j + 1)), STRIDE * to); });
      character.controls.forEach((control, i) => {
        const to = skin.controls.findIndex(({ name }) => name === control.name);
        if (to >= 0) pose.controls[to] = controls[c]?.[frame * character.controls.length + i] ?? control.rest;
      });
      pose.update();
      pose.coefficients.forEach((value, i) => {
        ranges.least[i] = Math.min(ranges.least[i], value);
        ranges.most[i] = Math.max(ranges.most[i], value);
      });
    }
  });
  pose.free();
  return ranges;
}

class Inside {
  private readonly picking: Picking;
  private readonly list: JointList;
  private readonly bars = new Bars('coefficients of the pose');
  private readonly frames: DrivenFrames;
  private readonly painted: { group: HTMLElement; update(): void };
  private readonly legend = el('p', { className: 'quiet painted-words' });
  private readonly ramp = el('div', { className: 'ramp' });
  private readonly choice = el('select', { className: 'select', aria: { label: 'support' }, on: { change: () => this.chooseSupport(Number(this.choice.value)) } });
  private readonly shapes = el('div', { className: 'shapes' });
  private readonly supportSection: HTMLElement;
  private readonly supportNote = el('p', { className: 'quiet' });
  private readonly drivenNote = el('p', { className: 'quiet' });
  private readonly drivenList = el('ul', { className: 'driven-list' });
  private readonly barsNote = el('p', { className: 'quiet' });
  private readonly drawDriven: { row: HTMLElement; update(): void };
  private open = false;
  private paint: Paint = 'nothing';
  private data: InsideData | null = null;
  private support = -1;
  private shape = -1; // the coefficient whose displacement is painted
  private driven = -1; // the driven joint whose weights are painted instead of the picked joint's
  private ranges: Ranges | null = null;
  private adding: Adding | null = null;
  private turn = 0; // the latest request; answers to older ones are dropped

  constructor(element: HTMLElement, private readonly app: App) {
    this.picking = pickingOf(app);
    this.list = new JointList(this.picking);
    this.frames = new DrivenFrames(app, this.picking);
    this.painted = segments<Paint>('painted on the skin', [
      { value: 'nothing', label: 'Nothing', title: 'The skin as it is' },
      { value: 'weights', label: 'Weights', title: 'How much the selected joint moves each vertex' },
      { value: 'support', label: 'Support', title: 'Where the chosen joint displaces the skin (EigenSkin, figure 3)' },
      { value: 'supports', label: 'All', title: 'All supports, each in its own colour' },
      { value: 'shape', label: 'RGB', title: 'A displacement, x y z as red green blue (EigenSkin, figure 5)' },
    ], () => this.paint, (paint) => this.setPaint(paint));
    this.drawDriven = toggle('Draw their frames', () => this.frames.on, (on) => { this.frames.set(on && this.open); this.frames.on = on; });
    this.supportSection = section('Supports and displacements', this.supportNote, this.choice, this.shapes);
    element.classList.add('inside');
    element.append(
      section('Painted on the skin', this.painted.group, this.ramp, this.legend), this.list.element,
      this.supportSection,
      section('Driven joints', this.drivenNote, this.drawDriven.row, this.drivenList),
      section('Coefficients of the pose', this.barsNote, this.bars.element));
    this.picking.onChange(() => { this.driven = -1; this.list.mark(); if (this.open && this.paint === 'weights') void this.repaint(); });
    app.on('subject', () => void this.begin());
    app.on('skin', () => void this.begin());
    app.on('deformed', () => this.follow());
    void this.begin();
  }

  setOpen(on: boolean): void {
    this.open = on;
    this.picking.want('inside', on);
    this.frames.set(on && this.frames.on);
    if (on) void this.begin();
    else this.leave();
  }

  /** Removes everything of the panel from the skin. */
  private leave(): void {
    this.app.stage.paint(null);
    if (this.adding && !this.adding.empty) {
      this.adding.clear();
      this.app.stage.adjust(null);
      this.showShapes();
    }
  }

  // -- Contents ------------------------------------------------------------------------------------------------

  private character(): Character | null {
    const subject = this.app.subject();
    return subject?.kind === 'character' ? subject.character : null;
  }

  private async begin(): Promise<void> {
    if (!this.open) return;
    const turn = ++this.turn;
    const character = this.character();
    const skin = this.app.skin();
    this.list.show(this.picking.joints());
    if (this.adding) this.app.stage.adjust(null);
    this.adding = null;
    this.data = null;
    this.ranges = null;
    this.support = this.shape = this.driven = -1;
    this.showDriven();
    this.showSupports('');
    this.showBars();
    const file = character?.skins[this.app.store.get().skin]?.inside;
    if (!character || !skin) return void this.showSupports('No skin is open.');
    try {
      const data = file ? await this.app.data.json<InsideData>(file) : null;
      if (turn !== this.turn) return;
      this.data = data;
      this.showSupports(data?.supports.length ? '' : 'This skin is a plain blend: it has no corrective, so no joint displaces it.');
      const ranges = await coefficientRanges(this.app, character, skin);
      if (turn !== this.turn) return;
      this.ranges = ranges;
      this.showShapes();
      this.follow();
    } catch (thrown) {
      this.showSupports(thrown instanceof Error ? thrown.message : String(thrown));
    }
    if (this.paint !== 'nothing') void this.repaint();
  }

  private follow(): void {
    if (!this.open) return;
    this.showBars();
    this.frames.follow();
  }

  // -- Painting -----------------------------------------------------------------------------------------------------

  private setPaint(paint: Paint): void {
    this.paint = paint;
    this.painted.update();
    void this.repaint();
  }

  private async repaint(): Promise<void> {
    const turn = this.turn;
    const paint = this.paint;
    try {
      const { colours, words, ramp } = await this.colours(paint);
      if (turn !== this.turn || paint !== this.paint || !this.open) return;
      this.legend.textContent = words;
      this.ramp.className = `ramp ${ramp}`;
      this.app.stage.paint(colours);
    } catch (thrown) {
      this.app.problem(thrown);
    }
  }

  private async colours(paint: Paint): Promise<{ colours: Float32Array | null; words: string; ramp: string }> {
    const skin = this.app.skin();
    const support = this.data?.supports[this.support];
    const none = (words: string) => ({ colours: null, words, ramp: '' });
    if (paint === 'nothing') return none('');
    if (!skin) return none('No skin is open.');
    if (paint === 'weights') {
      const own = this.picking.joints()[this.picking.joint];
      const joint = this.driven >= 0 ? skin.jointCount + this.driven : own ? skin.findJoint(own.name) : -1;
      if (joint < 0) return none('Select a joint in the scene or in the list.');
      const name = this.driven >= 0 ? skin.driven[this.driven].name : own.name;
      const weights = skin.weightsOf(joint);
      const count = weights.reduce((sum, weight) => sum + Number(weight !== 0), 0);
      return { colours: weightColours(weights), words: `${name} moves ${count} of ${skin.vertexCount} vertices`, ramp: weights.some((w) => w < 0) ? 'signed' : 'plain' };
    }
    if (!this.data?.supports.length) return none('This skin has no supports.');
    if (paint === 'supports') {
      const all = await Promise.all(this.data.supports.map((one) => this.app.data.floats(one.weights)));
      return { colours: supportColours(all, skin.vertexCount), words: `${all.length} supports, each in its own colour`, ramp: '' };
    }
    if (!support) return none('Choose a support below.');
    if (paint === 'support') {
      const weights = await this.app.data.floats(support.weights);
      return { colours: weightColours(weights), words: `${support.name} displaces ${support.points} points; 1 is its largest displacement`, ramp: 'plain' };
    }
    if (this.shape < 0 || !this.data.displacements) return none('In this skin every vertex has its own coefficients, so there is no displacement to paint.');
    const shape = await this.app.data.floats(numbered(this.data.displacements, this.shape));
    return { colours: displacementColours(shape), words: `displacement ${support.coefficients.indexOf(this.shape) + 1} of ${support.name}: x y z as red green blue; grey is none`, ramp: '' };
  }

  // -- Supports and displacements -----------------------------------------------------------------------------------

  private showSupports(note: string): void {
    const supports = this.data?.supports ?? [];
    this.supportNote.textContent = note;
    this.choice.hidden = !supports.length;
    this.choice.replaceChildren(...supports.map((support, i) => el('option', { value: String(i) }, `${support.name} (${support.points} points)`)));
    this.support = supports.length ? 0 : -1;
    this.shape = supports[0]?.coefficients[0] ?? -1;
    this.showShapes();
  }

  private chooseSupport(index: number): void {
    this.support = index;
    this.choice.value = String(index);
    this.shape = this.data?.supports[index]?.coefficients[0] ?? -1;
    const joint = this.data?.supports[index]?.joints[0];
    const name = joint === undefined ? undefined : this.app.skin()?.joints[joint]?.name;
    const own = this.picking.joints().findIndex((one) => one.name === name);
    if (own >= 0) this.picking.pick(own);
    this.showShapes();
    if (this.paint === 'nothing' || this.paint === 'weights' || this.paint === 'supports') this.setPaint('support');
    else void this.repaint();
  }

  private showShapes(): void {
    const support = this.data?.supports[this.support];
    if (!support || !this.data?.displacements) {
      this.shapes.replaceChildren();
      return;
    }
    const sigmas = support.singular_values;
    const rows = support.coefficients.slice(0, MOST_SLIDERS).map((coefficient, k) => this.shapeRow(support, coefficient, k));
    const more = support.coefficients.length - rows.length;
    this.shapes.replaceChildren(
      el('p', { className: 'quiet' }, sigmas ? 'The singular value says how much each one matters; its slider adds the displacement to the shape.' : 'Each slider adds its displacement to the shape.'),
      ...rows, more > 0 ? el('p', { className: 'quiet' }, `and ${more} more`) : '',
      el('div', { className: 'buttons' }, el('button', { type: 'button', className: 'tiny', on: { click: () => this.addNothing() } }, 'Add nothing')));
  }

  private shapeRow(support: Support, coefficient: number, k: number): HTMLElement {
    const sigma = support.singular_values?.[k];
    const most = support.singular_values?.[0] || 1;
    const reach = 1.5 * Math.max(Math.abs(this.ranges?.least[coefficient] ?? 0), Math.abs(this.ranges?.most[coefficient] ?? 0)) || sigma || 1;
    const seen = { least: this.ranges?.least[coefficient] ?? -reach, most: this.ranges?.most[coefficient] ?? reach };
    const slider = rangeSlider(`${k + 1}`, '', reach / 50, { least: -4 * reach, most: 4 * reach }, (value) => void this.add(coefficient, value, `displacement ${k + 1} of ${support.name}`));
    slider.shows(seen, { least: -reach, most: reach });
    slider.set(this.adding?.amount(coefficient) ?? 0);
    slider.input.setAttribute('aria-label', `displacement ${k + 1} of ${support.name}`);
    const rgb = el('button', { type: 'button', className: 'chip', title: 'Paint it: x y z as red green blue', aria: { label: `RGB: paint displacement ${k + 1}`, pressed: String(this.paint === 'shape' && this.shape === coefficient) },
      on: { click: () => { this.shape = coefficient; this.setPaint('shape'); this.showShapes(); } } }, 'RGB');
    const bar = el('span', { className: 'sigma', title: sigma === undefined ? '' : `singular value ${sigma}` });
    bar.style.setProperty('--share', `${sigma === undefined ? 0 : (100 * sigma) / most}%`);
    const value = el('span', { className: 'sigma-value' }, sigma === undefined ? '' : `σ ${sigma.toPrecision(3)}`);
    return el('div', { className: 'shape-row' }, slider.row, el('div', { className: 'shape-more' }, bar, value, rgb));
  }

  private async add(coefficient: number, amount: number, says: string): Promise<void> {
    const skin = this.app.skin();
    if (!skin || !this.data?.displacements) return;
    try {
      const turn = this.turn;
      const shape = await this.app.data.floats(numbered(this.data.displacements, coefficient), 3 * skin.vertexCount);
      if (turn !== this.turn) return;
      this.adding ??= new Adding(skin);
      this.change(says, (adding) => adding.set(coefficient, amount, shape), `displacement ${coefficient}`);
    } catch (thrown) {
      this.app.problem(thrown);
    }
  }

  private addNothing(): void {
    if (!this.adding || this.adding.empty) return;
    this.change('add nothing', (adding) => adding.clear());
    this.showShapes();
  }

  /** Changes what is added, so that it can be undone as long as this skin is looked into. */
  private change(says: string, call: (adding: Adding) => void, gesture = ''): void {
    const adding = this.adding!;
    const { turn } = this;
    const before = adding.kept();
    call(adding);
    const after = adding.kept();
    const back = (restore: () => void) => () => {
      if (turn !== this.turn || adding !== this.adding) return;
      restore();
      this.adjust(adding);
      this.showShapes();
    };
    this.app.history.add({ says, undo: back(before), redo: back(after) }, gesture);
    this.adjust(adding);
  }

  private adjust(adding: Adding): void {
    this.app.stage.adjust(adding.empty ? null : (positions) => {
      const pose: Pose | null = this.app.posed();
      if (pose) adding.apply(pose, positions);
    });
  }

  // -- Driven joints ------------------------------------------------------------------------------------------------

  private showDriven(): void {
    const skin = this.app.skin();
    const driven = skin?.driven ?? [];
    this.drivenNote.replaceChildren(...(!skin ? [] : driven.length ? [`${driven.length} joints computed from others`] : ['This skin has none: ', el('code', {}, '--blend joints'), ' adds them.']));
    this.drawDriven.row.hidden = !driven.length;
    this.drivenList.replaceChildren(...driven.map((one, i) => {
      const item = el('button', { type: 'button', className: 'driven', on: { click: () => this.pickDriven(i) } },
        el('span', { className: 'driven-name' }, one.name),
        el('span', { className: 'quiet' }, `${one.kind} ${Number(one.amount.toPrecision(3))} of ${skin!.joints[one.driver]?.name ?? '?'}`));
      item.style.setProperty('--hue', `rgb(${hueColour(i).map((x) => Math.round(255 * x)).join(' ')})`);
      return el('li', {}, item);
    }));
  }

  /** Picks its driver, highlights its frame and paints its weights. */
  private pickDriven(index: number): void {
    const skin = this.app.skin();
    if (!skin) return;
    const name = skin.joints[skin.driven[index].driver]?.name;
    this.picking.pick(this.picking.joints().findIndex((joint) => joint.name === name));
    this.driven = index;
    this.frames.picked = index;
    this.frames.follow();
    [...this.drivenList.querySelectorAll('button')].forEach((button, i) => button.setAttribute('aria-pressed', String(i === index)));
    this.setPaint('weights');
  }

  // -- Coefficients -------------------------------------------------------------------------------------------------

  private showBars(): void {
    const coefficients = this.app.posed()?.coefficients ?? new Float32Array(0);
    this.bars.element.hidden = !coefficients.length;
    this.barsNote.textContent = coefficients.length ? '' : this.app.skin()?.driven.length ? 'No corrective: the shape follows the joints above.' : 'This skin has no coefficients that depend on the pose.';
    const names: string[] = [];
    for (const support of this.data?.supports ?? []) support.coefficients.forEach((c, k) => { names[c] ??= `${support.name} ${k + 1}`; });
    if (coefficients.length) this.bars.show(coefficients.slice(), this.ranges, names);
  }
}

export const inside: Panel = {
  id: 'inside',
  title: 'Inside',
  key: 'i',
  suits: (subject) => subject?.kind === 'character',
  mount(element, app) {
    const panel = new Inside(element, app);
    return { shown: () => panel.setOpen(true), hidden: () => panel.setOpen(false) };
  },
};
