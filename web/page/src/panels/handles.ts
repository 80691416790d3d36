// handles.ts: what can be grabbed in the scene at the picked joint: rings that turn it, or arrows that take it somewhere
// and the limb above with it.

import * as THREE from 'three';
import { TransformControls } from 'three/addons/controls/TransformControls.js';
import type { App } from '../app';
import { firstFingerTurns } from './fingers';
import type { Picking } from './picking';
import { limbOf, reach } from './reach';
import { STRIDE } from './pose';
import type { Quaternion, Triple } from './rotation';

export type Grip = 'turn' | 'reach' | 'none';

let grabs = 0;

export class Handles {
  grip: Grip = 'turn';
  bones = 2; // that follow a reach
  missing: number | null = null; // how far the last reach stayed away; null: none
  private gizmo: TransformControls | null = null;
  private readonly hand = new THREE.Object3D();
  private readonly gap = new THREE.Line(new THREE.BufferGeometry(), new THREE.LineDashedMaterial({ color: 0xff6a5c, dashSize: 1, gapSize: 1, depthTest: false, transparent: true }));
  private dragged: { gesture: string; hand: THREE.Quaternion; rotation: Quaternion; parent: THREE.Quaternion; from: Float32Array } | null = null;

  constructor(private readonly app: App, private readonly picking: Picking, private readonly open: () => boolean, private readonly changed: () => void) {
    this.gap.renderOrder = 11;
    this.gap.frustumCulled = false;
    app.stage.element.addEventListener('camera', () => { if (this.gizmo) this.gizmo.camera = app.stage.camera; });
  }

  /** The joints that a reach turns, from the top down. */
  limb(most = this.bones): number[] {
    const { joint, globals } = this.picking;
    return joint >= 0 && globals.length > 16 * joint ? limbOf(this.picking.joints(), globals, joint, most) : [];
  }

  /** Puts the handle at the joint, with its rotation, unless it is being dragged. */
  place(): void {
    const { joint, globals } = this.picking;
    const there = this.open() && this.grip !== 'none' && joint >= 0 && globals.length > 16 * joint;
    const on = there && (this.grip === 'turn' || this.limb().length > 1);
    const gizmo = on ? this.make() : this.gizmo;
    if (!gizmo) return;
    if (!on) gizmo.detach();
    if (!on || this.dragged) return void this.app.stage.redraw();
    gizmo.setMode(this.grip === 'turn' ? 'rotate' : 'translate');
    gizmo.setSpace(this.grip === 'turn' ? 'local' : 'world');
    if (this.hand.parent !== this.app.stage.overlay) this.app.stage.overlay.add(this.hand, gizmo.getHelper());
    new THREE.Matrix4().fromArray(globals, 16 * joint).decompose(this.hand.position, this.hand.quaternion, this.hand.scale);
    this.hand.scale.setScalar(1);
    if (gizmo.object !== this.hand) gizmo.attach(this.hand);
    this.app.stage.redraw();
  }

  private make(): TransformControls | null {
    const pane = this.app.stage.pane('model');
    if (this.gizmo?.domElement === pane || !pane) return this.gizmo;
    this.gizmo?.detach();
    this.gizmo?.getHelper().removeFromParent();
    this.gizmo?.dispose();
    const gizmo = new TransformControls(this.app.stage.camera, pane);
    firstFingerTurns(pane, gizmo);
    gizmo.setSize(0.8);
    gizmo.addEventListener('change', () => this.app.stage.redraw());
    gizmo.addEventListener('mouseDown', () => this.grab());
    gizmo.addEventListener('mouseUp', () => this.drop());
    gizmo.addEventListener('objectChange', () => this.drag());
    this.picking.blocked = () => this.open() && gizmo.object !== undefined && gizmo.axis !== null;
    this.gizmo = gizmo;
    return gizmo;
  }

  private grab(): void {
    const { joint } = this.picking;
    const { parent } = this.picking.joints()[joint];
    const frame = new THREE.Quaternion();
    if (parent >= 0) new THREE.Matrix4().fromArray(this.picking.globals, 16 * parent).decompose(new THREE.Vector3(), frame, new THREE.Vector3());
    this.app.stage.orbit(false);
    const from = this.app.pose.locals.slice();
    const rotation = [...from.subarray(STRIDE * joint, STRIDE * joint + 4)] as Quaternion;
    this.dragged = { gesture: `grab ${grabs++}`, hand: this.hand.quaternion.clone(), rotation, parent: frame, from };
  }

  private drop(): void {
    this.dragged = null;
    this.gap.removeFromParent();
    this.app.stage.orbit(true);
    this.place();
  }

  private drag(): void {
    if (!this.dragged) return;
    if (this.grip === 'turn') this.dragRing();
    else this.reach(this.hand.position.toArray(), this.dragged);
  }

  /** Applies the handle's rotation in the scene, converted to the parent's frame, before the joint's rotation. */
  private dragRing(): void {
    const { joint } = this.picking;
    const { hand, rotation, parent, gesture } = this.dragged!;
    const by = this.hand.quaternion.clone().multiply(hand.clone().invert());
    const turned = parent.clone().invert().multiply(by).multiply(parent).multiply(new THREE.Quaternion(...rotation)).normalize();
    const local = this.app.pose.locals.slice(STRIDE * joint, STRIDE * (joint + 1));
    local.set([turned.x, turned.y, turned.z, turned.w]);
    this.app.act(`turn ${this.picking.joints()[joint].name}`, () => {
      this.app.store.set({ playing: false });
      this.app.pose.setLocal(joint, local);
    }, gesture, Infinity);
  }

  /** Takes the picked joint to a place, as near as its limb allows. While dragging, always from where it was grabbed, so
      that going back undoes going there. */
  reach(place: Triple, dragged?: { gesture: string; from: Float32Array }): void {
    const { joint } = this.picking;
    const joints = this.picking.joints();
    const limb = this.limb();
    if (limb.length < 2) return;
    const { locals, missing } = reach(joints, dragged?.from ?? this.app.pose.locals, limb, joint, place);
    const size = new THREE.Vector3(...place).length() + 1;
    this.missing = missing > 1e-4 * size ? missing : 0;
    this.app.act(`reach with ${joints[joint].name}`, () => {
      this.app.store.set({ playing: false });
      for (const j of limb) this.app.pose.setLocal(j, locals.subarray(STRIDE * j, STRIDE * (j + 1)));
    }, dragged?.gesture ?? `reach ${joint}`, dragged ? Infinity : undefined);
    this.changed();
    this.showGap(place);
  }

  /** A dashed line from the end of the limb to the hand that it does not reach. */
  private showGap(place: Triple): void {
    this.gap.removeFromParent();
    if (!this.dragged || !this.missing) return;
    this.picking.follow();
    const { joint, globals } = this.picking;
    this.gap.geometry.setFromPoints([new THREE.Vector3().fromArray(globals, 16 * joint + 12), new THREE.Vector3(...place)]);
    this.gap.computeLineDistances();
    const material = this.gap.material as THREE.LineDashedMaterial;
    material.dashSize = material.gapSize = this.missing / 15;
    this.app.stage.overlay.add(this.gap);
  }
}
