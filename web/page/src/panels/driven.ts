// driven.ts: driven joints in the scene: the frame of each, as rotated and scaled by the pose, and a line to its
// driver.

import * as THREE from 'three';
import type { App } from '../app';
import type { Picking } from './picking';

const AXES = [[1, 0.35, 0.35], [0.45, 0.95, 0.45], [0.45, 0.62, 1]];

export class DrivenFrames {
  on = true; // enabled by the user
  picked = -1;
  private readonly lines: THREE.LineSegments;
  private shown = false;

  constructor(private readonly app: App, private readonly picking: Picking) {
    const material = new THREE.LineBasicMaterial({ vertexColors: true, depthTest: false, depthWrite: false, transparent: true, toneMapped: false });
    this.lines = new THREE.LineSegments(new THREE.BufferGeometry(), material);
    this.lines.frustumCulled = false;
    this.lines.renderOrder = 11;
    this.lines.name = 'driven joints';
    this.lines.visible = false;
  }

  set(shown: boolean): void {
    this.shown = shown;
    this.follow();
    this.app.stage.redraw();
  }

  follow(): void {
    const skin = this.app.skin();
    const pose = this.app.posed();
    const subject = this.app.subject();
    this.lines.visible = this.shown && !!skin?.driven.length && !!pose && subject?.kind === 'character';
    this.picking.skeleton?.dim(this.lines.visible);
    if (!this.lines.visible || !skin || !pose || subject?.kind !== 'character') return;
    if (this.lines.parent !== this.app.stage.overlay) this.app.stage.overlay.add(this.lines);
    const { matrices } = pose;
    const size = 0.04 * subject.character.diagonal;
    const points: number[] = [];
    const colours: number[] = [];
    const line = (from: number[], to: number[], colour: number[]) => {
      points.push(...from, ...to);
      colours.push(...colour, ...colour);
    };
    skin.driven.forEach((driven, i) => {
      const m = matrices.subarray(12 * (skin.jointCount + i), 12 * (skin.jointCount + i + 1));
      const at = [0, 1, 2].map((r) => m[4 * r] * driven.origin[0] + m[4 * r + 1] * driven.origin[1] + m[4 * r + 2] * driven.origin[2] + m[4 * r + 3]);
      const long = i === this.picked ? 2 * size : size;
      const dim = this.picked < 0 || i === this.picked ? 1 : 0.45;
      AXES.forEach((colour, c) => line(at, at.map((x, r) => x + long * m[4 * r + c]), colour.map((x) => dim * x)));
      const driver = this.picking.joints().findIndex((joint) => joint.name === skin.joints[driven.driver]?.name);
      const place = driver >= 0 && this.picking.globals.length ? [...this.picking.globals.subarray(16 * driver + 12, 16 * driver + 15)] : at;
      if (Math.hypot(...place.map((x, r) => x - at[r])) > 0.1 * size) line(at, place, [dim, 0.85 * dim, 0.4 * dim]);
    });
    const geometry = this.lines.geometry;
    const old = geometry.getAttribute('position');
    if (old?.count !== points.length / 3) {
      geometry.dispose();
      geometry.setAttribute('position', new THREE.Float32BufferAttribute(points, 3));
      geometry.setAttribute('color', new THREE.Float32BufferAttribute(colours, 3));
    } else {
      (old.array as Float32Array).set(points);
      old.needsUpdate = true;
      const colour = geometry.getAttribute('color');
      (colour.array as Float32Array).set(colours);
      colour.needsUpdate = true;
    }
  }
}
