// pull.ts: rotates joints and moves controls, within the training range and beyond. A pose that differs from the clip
// has no truth; one that differs from all training is a guess, and is marked as such.

import type { App, Panel } from '../app';
import { el, section, segments } from '../dom';
import type { Character, Clip, Control } from '../show';
import type { Layout } from '../store';
import './panels.css';
import { Handles, type Grip } from './handles';
import { JointList } from './joint_list';
import { pickingOf, type Picking } from './picking';
import { beyond, boneAxes, findMirror, listed, mirrored, nearest, poseText, readPose, restPose, setSinceRest, shownOf, sinceRest, STRIDE, type Mirror, type Shown } from './pose';
import { rangeSlider, type RangeSlider } from './range_slider';
import { ReachFields } from './reach_fields';
import { fromTurns, toTurns, type Quaternion, type Triple } from './rotation';

/** The clips that the skin was trained on; all of the character's if it does not know. */
export function trainingClips(character: Character, skin: number): { clips: Clip[]; known: boolean } {
  const names = character.skins[skin]?.facts?.clips ?? [];
  const clips = character.clips.filter((clip) => names.includes(clip.name));
  return clips.length ? { clips, known: true } : { clips: character.clips, known: false };
}

class Pulling {
  private readonly picking: Picking;
  private readonly list: JointList;
  private readonly sliders: RangeSlider[];
  private readonly name = el('h3', { className: 'picked-joint' });
  private readonly verdict = el('p', { className: 'verdict', aria: { live: 'polite' } });
  private readonly near = el('button', { type: 'button', className: 'quiet-link' });
  private readonly missing = el('p', { className: 'quiet' });
  private readonly turning = el('div', { className: 'turning' });
  private readonly controls = el('div', { className: 'controls' });
  private readonly controlSliders: RangeSlider[] = [];
  private readonly text = el('textarea', { className: 'pose-text', hidden: true, rows: 5, spellcheck: false, aria: { label: 'the pose as text' } });
  private readonly mirrorButton: HTMLButtonElement;
  private readonly handles: Handles;
  private readonly reaching: ReachFields;
  private open = false;
  private before: Layout | null = null; // the layout before the panel was opened
  private character: Character | null = null;
  private bones: Uint8Array = new Uint8Array(0);
  private mirror: Mirror | null = null;
  private trained: { clips: Clip[]; known: boolean } = { clips: [], known: false };
  private poses: Float32Array[] | null = null; // of the training clips; null: not loaded yet
  private readonly shown = new Map<number, Shown>();

  constructor(element: HTMLElement, private readonly app: App) {
    this.picking = pickingOf(app);
    this.list = new JointList(this.picking);
    this.sliders = [0, 1, 2].map((i) => rangeSlider('xyz'[i], '°', 1, { least: -180, most: 180 }, (value) => this.turned(i, value)));
    const action = (label: string, title: string, call: () => void) =>
      el('button', { type: 'button', className: 'tiny', title, on: { click: call } }, label);
    this.mirrorButton = action('Mirror', 'Swap left and right', () => this.flip());
    this.handles = new Handles(app, this.picking, () => this.open, () => this.reaching.update());
    this.reaching = new ReachFields(this.handles, this.picking, app.history);
    const grip = segments<Grip>('Handles in the scene', [
      { value: 'turn', label: 'Rings', title: 'Rings that turn the selected joint' },
      { value: 'reach', label: 'Reach', title: 'Move the joint, and the limb above it follows' },
      { value: 'none', label: 'None', title: 'No handles in the scene' },
    ], () => this.handles.grip, (value) => { this.handles.grip = value; grip.update(); this.reaching.update(); this.handles.place(); });
    this.turning.append(this.name, this.verdict, this.near, ...this.sliders.map((slider) => slider.row),
      el('div', { className: 'buttons' }, action('Reset joint', 'Back to the clip', () => app.act(`reset ${this.name.textContent}`, () => app.pose.reset(this.picking.joint))),
        el('span', { className: 'gap' }), grip.group),
      this.reaching.element);
    element.classList.add('pull');
    element.append(this.missing, this.list.element, this.turning, this.controls,
      section('Pose',
        el('div', { className: 'buttons' },
          action('Reset all', 'Back to the clip', () => this.resetAll()),
          action('Rest', 'The rest pose', () => this.set('rest pose', restPose(this.picking.joints()))),
          this.mirrorButton,
          action('Copy', 'Copy the pose to the clipboard as JSON', () => void this.copy()),
          action('Paste', 'Paste a copied pose from the clipboard', () => void this.paste())),
        this.text));
    this.list.beyond = (joint) => this.beyond(joint) > 0;
    this.near.addEventListener('click', () => this.goToNearest());
    this.text.addEventListener('keydown', (event) => event.stopPropagation());
    this.text.addEventListener('change', () => this.take(this.text.value));
    this.picking.onChange(() => { this.handles.missing = null; this.spans(); this.update(); });
    app.on('subject', () => void this.begin());
    app.on('skin', () => void this.begin());
    app.on('shown', () => void this.begin());
    app.on('deformed', () => this.update());
    void this.begin();
  }

  setOpen(on: boolean): void {
    this.open = on;
    this.arrange(on);
    this.picking.want('pull', on);
    void this.read();
    this.handles.place();
    this.update();
  }

  /** A changed pose has no truth, so the model gets the whole picture; otherwise the panes would change during a
   * drag. */
  private arrange(on: boolean): void {
    const { layout } = this.app.store.get();
    if (on && layout !== 'model' && layout !== 'skins') {
      this.before = layout;
      this.app.store.set({ layout: 'model' });
    } else if (!on && this.before && layout === 'model') {
      this.app.store.set({ layout: this.before });
      this.before = null;
    }
  }

  // -- Contents ------------------------------------------------------------------------------------------------

  private async begin(): Promise<void> {
    const subject = this.app.subject();
    this.character = subject?.kind === 'character' ? subject.character : null;
    const joints = this.picking.joints();
    this.bones = boneAxes(joints);
    this.mirror = joints.length ? findMirror(joints) : null;
    this.mirrorButton.disabled = !this.mirror;
    this.mirrorButton.title = this.mirror ? 'Swap left and right' : 'No joint has a counterpart on the other side, neither by name nor by position';
    this.trained = this.character ? trainingClips(this.character, this.app.store.get().skin) : { clips: [], known: false };
    this.poses = null;
    this.shown.clear();
    this.missing.textContent = joints.length ? '' : 'This character has no skeleton to pose.';
    this.list.show(joints);
    this.beginControls(this.character?.controls ?? []);
    if (this.picking.skeleton) this.picking.skeleton.beyond = (joint) => this.beyond(joint) > 0;
    this.update();
    await this.read();
  }

  private async read(): Promise<void> {
    const { clips } = this.trained;
    if (!this.open || this.poses || !clips.length) return;
    try {
      const poses = await Promise.all(clips.map((clip) => this.app.data.floats(clip.poses)));
      if (clips !== this.trained.clips) return;
      this.poses = poses;
    } catch (thrown) {
      this.app.problem(thrown);
    }
    this.shown.clear();
    this.spans();
    this.update();
  }

  /** A joint's training range; null: unknown (yet). */
  private shownOf(joint: number): Shown | null {
    if (joint < 0 || !this.poses) return null;
    const known = this.shown.get(joint) ?? shownOf(this.picking.joints(), joint, this.bones[joint], this.poses);
    this.shown.set(joint, known);
    return known;
  }

  private turnsOf(joint: number): Triple {
    return toTurns(sinceRest(this.picking.joints(), this.app.pose.locals, joint), this.bones[joint]);
  }

  private beyond(joint: number): number {
    const { locals, clip, pulled } = this.app.pose;
    if (!pulled) return 0;
    let same = true;
    for (let i = STRIDE * joint; i < STRIDE * joint + 4; i++) same &&= locals[i] === clip[i];
    const shown = same ? null : this.shownOf(joint);
    return shown ? beyond(this.turnsOf(joint), shown) : 0;
  }

  // -- The picked joint ---------------------------------------------------------------------------------------------

  /** The range of the sliders: what was seen, and as much again, at least 30 degrees, on both sides. */
  private spans(): void {
    const shown = this.shownOf(this.picking.joint);
    this.sliders.forEach((slider, i) => {
      const seen = { least: shown?.least[i] ?? 0, most: shown?.most[i] ?? 0 };
      const more = shown ? Math.max(30, (seen.most - seen.least) / 2) : 90;
      slider.shows(seen, { least: Math.max(-180, seen.least - more), most: Math.min(180, seen.most + more) });
      slider.row.querySelector('.range-name')!.textContent = `${i === this.bones[this.picking.joint] ? 'twist' : 'swing'} ${'xyz'[i]}`;
    });
  }

  private update(): void {
    const subject = this.app.subject();
    if (!this.open || (subject?.kind === 'character' ? subject.character : null) !== this.character) return;
    const joint = this.picking.joint;
    const joints = this.picking.joints();
    this.turning.hidden = joint < 0 || joint >= joints.length;
    if (!this.turning.hidden) {
      this.name.textContent = joints[joint].name;
      this.turnsOf(joint).forEach((turn, i) => this.sliders[i].set(turn));
      this.judge(joint);
    }
    this.controlSliders.forEach((slider, i) => slider.set(this.app.pose.controls[i]));
    this.list.mark();
    this.picking.skeleton?.colour();
    this.reaching.update();
    this.handles.place();
  }

  private judge(joint: number): void {
    const shown = this.shownOf(joint);
    const over = shown ? beyond(this.turnsOf(joint), shown) : 0;
    this.verdict.classList.toggle('beyond', over > 0);
    const where = this.trained.known ? 'in training' : 'in the clips';
    this.verdict.textContent = !this.trained.clips.length ? 'There are no clips, so the range of this joint is unknown.'
      : !shown ? '…' : over > 0 ? `beyond the range seen: ${over < 10 ? over.toFixed(1) : over.toFixed(0)} degrees` : `within the range seen ${where}`;
    const best = shown && nearest(sinceRest(this.picking.joints(), this.app.pose.locals, joint), shown);
    this.near.hidden = !best || best.example < 0;
    if (best && best.example >= 0) this.near.textContent = `nearest example: ${best.degrees.toFixed(1)}° away`;
  }

  private goToNearest(): void {
    const shown = this.shownOf(this.picking.joint);
    if (!shown || !this.character) return;
    let { example } = nearest(sinceRest(this.picking.joints(), this.app.pose.locals, this.picking.joint), shown);
    for (const clip of this.trained.clips) {
      if (example < clip.frames) {
        const index = this.character.clips.indexOf(clip);
        this.app.act('nearest example', () => {
          this.app.pose.reset();
          this.app.store.set({ playing: false, clip: index, frame: example });
        });
        return;
      }
      example -= clip.frames;
    }
  }

  private turned(axis: number, value: number): void {
    const joint = this.picking.joint;
    const turns = this.turnsOf(joint);
    turns[axis] = value;
    this.rotate(joint, fromTurns(turns, this.bones[joint]), `turn ${joint} ${axis}`);
  }

  private rotate(joint: number, sinceTheRest: Quaternion, gesture: string): void {
    const joints = this.picking.joints();
    const locals = Float32Array.from(this.app.pose.locals);
    setSinceRest(joints, locals, joint, sinceTheRest);
    this.app.act(`turn ${joints[joint].name}`, () => {
      this.app.store.set({ playing: false });
      this.app.pose.setLocal(joint, locals.subarray(STRIDE * joint, STRIDE * (joint + 1)));
    }, gesture);
  }

  // -- Controls -----------------------------------------------------------------------------------------------------

  private beginControls(controls: Control[]): void {
    this.controlSliders.length = 0;
    for (const control of controls) {
      const size = control.most - control.least || 1;
      const wide = { least: control.least - size, most: control.most + size };
      const slider = rangeSlider(control.name, '', size / 100, wide, (value) => {
        this.app.act(`change ${control.name}`, () => {
          this.app.store.set({ playing: false });
          this.app.pose.setControl(this.controlSliders.indexOf(slider), value);
        }, `control ${control.name}`);
      });
      slider.shows(control, { least: control.least - size / 4, most: control.most + size / 4 });
      this.controlSliders.push(slider);
    }
    this.controls.replaceChildren(...(controls.length ? [section('Controls', ...this.controlSliders.map((slider) => slider.row))] : []));
  }

  // -- The whole pose -----------------------------------------------------------------------------------------------

  private set(says: string, locals: Float32Array, values?: Float32Array): void {
    const { pose } = this.app;
    this.app.act(says, () => {
      this.app.store.set({ playing: false });
      for (let j = 0; j < this.picking.joints().length; j++) {
        const local = locals.subarray(STRIDE * j, STRIDE * (j + 1));
        if (local.some((x, i) => x !== pose.locals[STRIDE * j + i])) pose.setLocal(j, local);
      }
      values?.forEach((value, i) => pose.setControl(i, value));
    });
  }

  private resetAll(): void {
    this.text.hidden = true;
    this.app.act('reset', () => this.app.pose.reset());
  }

  private flip(): void {
    if (this.mirror) this.set('mirror', mirrored(this.picking.joints(), this.app.pose.locals, this.mirror));
  }

  private async copy(): Promise<void> {
    const text = poseText(this.picking.joints(), this.app.pose.locals, this.character?.controls ?? [], this.app.pose.controls);
    this.text.value = text;
    try {
      await navigator.clipboard.writeText(text);
      this.app.say('The pose was copied to the clipboard.');
    } catch {
      this.text.hidden = false;
      this.text.select();
      this.app.say('The browser blocks the clipboard. Copy the pose from the field.');
    }
  }

  private async paste(): Promise<void> {
    try {
      this.take(await navigator.clipboard.readText());
    } catch {
      this.text.value = '';
      this.text.hidden = false;
      this.text.focus();
      this.app.say('The browser blocks the clipboard. Paste the pose into the field.');
    }
  }

  private take(text: string): void {
    try {
      const { locals, values, unknown } = readPose(text, this.picking.joints(), this.character?.controls ?? []);
      this.set('paste', locals, values);
      this.text.hidden = true;
      if (unknown.length) this.app.say(`Left out, because this character does not have them: ${listed(unknown)}.`);
    } catch (thrown) {
      this.app.problem(thrown);
    }
  }
}

export const pull: Panel = {
  id: 'pull',
  title: 'Pull',
  key: 'j',
  suits: (subject) => subject?.kind === 'character',
  mount(element, app) {
    const panel = new Pulling(element, app);
    return { shown: () => panel.setOpen(true), hidden: () => panel.setOpen(false) };
  },
};
