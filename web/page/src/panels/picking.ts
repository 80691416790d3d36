// picking.ts: the picked joint, shared by the panels, and the skeleton in the scene where it is picked.

import type { App } from '../app';
import { el } from '../dom';
import type { Joint } from '../show';
import { chain, STRIDE } from './pose';
import { Skeleton } from './skeleton';

export class Picking {
  joint = -1;
  skeleton: Skeleton | null = null;
  globals: Float32Array = new Float32Array(0);
  blocked: () => boolean = () => false; // a gizmo is under the pointer
  private readonly watchers: (() => void)[] = [];
  private readonly wanted = new Set<string>(); // panels that need the skeleton
  private pressed: { x: number; y: number } | null = null;
  private readonly panes = new WeakSet<HTMLElement>();

  constructor(private readonly app: App) {
    app.on('subject', () => this.begin());
    app.on('deformed', () => this.follow());
    this.begin();
  }

  joints(): Joint[] {
    const subject = this.app.subject();
    return subject?.kind === 'character' ? subject.character.joints : [];
  }

  onChange(call: () => void): void {
    this.watchers.push(call);
  }

  pick(joint: number): void {
    if (joint === this.joint) return;
    this.joint = joint;
    if (this.skeleton) {
      this.skeleton.picked = joint;
      this.skeleton.colour();
    }
    for (const call of this.watchers) call();
    this.app.stage.redraw();
  }

  hover(joint: number): void {
    if (!this.skeleton || this.skeleton.hovered === joint) return;
    this.skeleton.hovered = joint;
    this.skeleton.colour();
    this.app.stage.redraw();
  }

  // The name of the bone under the pointer, beside it: what a press would pick.
  private readonly label = el('div', { className: 'bone-name', hidden: true, aria: { hidden: 'true' } });

  private name(pane: HTMLElement, joint: number, x: number, y: number): void {
    pane.classList.toggle('on-bone', joint >= 0);
    this.label.hidden = joint < 0;
    if (joint < 0) return;
    if (this.label.parentElement !== pane) pane.append(this.label);
    this.label.textContent = this.joints()[joint].name;
    this.label.style.left = `${Math.min(x, pane.clientWidth - this.label.offsetWidth - 20)}px`;
    this.label.style.top = `${Math.max(y, 34)}px`;
  }

  /** Called when a panel that draws the skeleton opens or closes. */
  want(panel: string, on: boolean): void {
    if (on) this.wanted.add(panel);
    else this.wanted.delete(panel);
    if (this.skeleton) this.skeleton.group.visible = this.wanted.size > 0;
    this.follow();
    this.app.stage.redraw();
  }

  private begin(): void {
    this.skeleton?.dispose();
    this.skeleton = null;
    this.joint = -1;
    const subject = this.app.subject();
    if (subject?.kind === 'character' && subject.character.joints.length) {
      this.skeleton = new Skeleton(subject.character.joints, subject.character.diagonal);
      this.skeleton.group.visible = this.wanted.size > 0;
      this.app.stage.overlay.add(this.skeleton.group);
    }
    this.follow();
    for (const call of this.watchers) call();
  }

  follow(): void {
    const joints = this.joints();
    const { locals } = this.app.pose;
    if (!this.skeleton || !this.wanted.size || locals.length < STRIDE * joints.length) return;
    this.listen();
    this.globals = chain(joints, locals, this.globals.length === 16 * joints.length ? this.globals : undefined);
    this.skeleton.update(this.globals);
  }

  /** A click without movement picks; a drag belongs to the camera. */
  private listen(): void {
    const pane = this.app.stage.pane('model');
    if (!pane || this.panes.has(pane)) return;
    this.panes.add(pane);
    const at = (event: PointerEvent) => {
      const box = pane.getBoundingClientRect();
      return this.skeleton?.group.visible && !this.blocked()
        ? this.skeleton.pick(this.app.stage.camera, box.width, box.height, event.clientX - box.left, event.clientY - box.top) : -1;
    };
    pane.addEventListener('pointermove', (event) => {
      if (event.buttons) return;
      const joint = at(event);
      const box = pane.getBoundingClientRect();
      this.hover(joint);
      this.name(pane, joint, event.clientX - box.left, event.clientY - box.top);
    });
    pane.addEventListener('pointerleave', () => { this.hover(-1); this.name(pane, -1, 0, 0); });
    pane.addEventListener('pointerdown', (event) => { this.pressed = event.isPrimary ? { x: event.clientX, y: event.clientY } : null; }); // two fingers are the camera's
    addEventListener('pointerup', (event) => { // the camera's controls have captured the pointer by now
      const still = this.pressed && Math.hypot(event.clientX - this.pressed.x, event.clientY - this.pressed.y) < (event.pointerType === 'touch' ? 12 : 5);
      const joint = still ? at(event) : -1;
      this.pressed = null;
      if (joint >= 0) this.pick(joint);
    });
  }
}

const known = new WeakMap<App, Picking>();

export function pickingOf(app: App): Picking {
  const picking = known.get(app) ?? new Picking(app);
  known.set(app, picking);
  return picking;
}
