// skeleton.ts: the skeleton in the scene, drawn over the skin: bones as slim octahedra from joint to joint, a small one
// for a joint without a bone. Joints are picked in screen space, by the nearest bone within a finger's width, because
// bones are thin.

import * as THREE from 'three';
import type { Joint } from '../show';
import { placeOf } from './pose';

const COLOURS = { bone: 0xb4bfd2, hovered: 0xffffff, picked: 0xf0a24b, beyond: 0xff6a5c };
const NEAR = 14; // pixels

/** An octahedron of unit length along +y, with a light and a dark side so that it needs no lighting. */
function boneShape(): THREE.BufferGeometry {
  const waist = 0.14;
  const ring = [[1, 0], [0, 1], [-1, 0], [0, -1]];
  const shades = [1, 0.82, 0.62, 0.74];
  const positions: number[] = [];
  const colours: number[] = [];
  ring.forEach(([x, z], i) => {
    const [nextX, nextZ] = ring[(i + 1) % 4];
    for (const [tip, shade] of [[0, 0.8], [1, 1]]) {
      const corners = [[x, waist, z], [nextX, waist, nextZ]];
      if (tip) corners.reverse();
      positions.push(...corners[0], ...corners[1], 0, tip, 0);
      for (let k = 0; k < 3; k++) colours.push(...[0, 1, 2].map(() => shade * shades[i]));
    }
  });
  const shape = new THREE.BufferGeometry();
  shape.setAttribute('position', new THREE.Float32BufferAttribute(positions, 3));
  shape.setAttribute('color', new THREE.Float32BufferAttribute(colours, 3));
  return shape;
}

interface Bone { joint: number; child: number; helper: boolean } // child -1: the joint has none

/** Joints that only help others, such as twists: they carry nothing, and lie on a bone that goes on beyond them. */
export function helpersOf(joints: Joint[]): boolean[] {
  const carries = joints.map((_, j) => joints.some(({ parent }) => parent === j));
  return joints.map(({ parent, rest: { translation: t } }, j) => {
    if (parent < 0 || carries[j]) return false;
    return joints.some((other, o) => {
      const s = other.rest.translation;
      const long = s[0] ** 2 + s[1] ** 2 + s[2] ** 2;
      if (o === j || other.parent !== parent || !carries[o] || !long) return false;
      const share = (t[0] * s[0] + t[1] * s[1] + t[2] * s[2]) / long;
      const off = Math.hypot(...t.map((x, i) => x - share * s[i])) / Math.sqrt(long);
      return off < 0.05 && share > -0.02 && share < 0.98;
    });
  });
}

function bonesOf(joints: Joint[], diagonal: number): Bone[] {
  const bones: Bone[] = [];
  const helpers = helpersOf(joints);
  const carries = joints.map(() => false);
  joints.forEach((joint, j) => {
    if (joint.parent < 0 || helpers[j] || Math.hypot(...joint.rest.translation) < 1e-4 * diagonal) return;
    bones.push({ joint: joint.parent, child: j, helper: false });
    carries[joint.parent] = true;
  });
  carries.forEach((has, joint) => { if (!has) bones.push({ joint, child: -1, helper: helpers[joint] }); });
  return bones;
}

export class Skeleton {
  readonly group = new THREE.Group();
  hovered = -1;
  picked = -1;
  beyond: (joint: number) => boolean = () => false;
  private readonly bones: Bone[];
  private readonly mesh: THREE.InstancedMesh;
  private globals: Float32Array = new Float32Array(0);

  constructor(private readonly joints: Joint[], private readonly diagonal: number) {
    this.bones = bonesOf(joints, diagonal);
    const material = new THREE.MeshBasicMaterial({ vertexColors: true, depthTest: false, depthWrite: false, transparent: true, opacity: 0.9, toneMapped: false });
    this.mesh = new THREE.InstancedMesh(boneShape(), material, this.bones.length);
    this.mesh.frustumCulled = false;
    this.mesh.renderOrder = 10;
    this.group.add(this.mesh);
    this.group.name = 'skeleton';
  }

  /** Moves bones to the joints: matrices as returned by pose.ts's chain. */
  update(globals: Float32Array): void {
    this.globals = globals;
    const up = new THREE.Vector3(0, 1, 0);
    const from = new THREE.Vector3();
    const along = new THREE.Vector3();
    const turn = new THREE.Quaternion();
    const matrix = new THREE.Matrix4();
    this.bones.forEach(({ joint, child }, i) => {
      from.fromArray(globals, 16 * joint + 12);
      if (child >= 0) along.fromArray(globals, 16 * child + 12).sub(from);
      else along.fromArray(globals, 16 * joint + 4).normalize().multiplyScalar(0.012 * this.diagonal);
      const length = Math.max(along.length(), 1e-6 * this.diagonal);
      turn.setFromUnitVectors(up, along.divideScalar(length));
      const width = Math.min(0.09 * length, 0.011 * this.diagonal);
      this.mesh.setMatrixAt(i, matrix.compose(from, turn, new THREE.Vector3(width, length, width)));
    });
    this.mesh.instanceMatrix.needsUpdate = true;
    this.colour();
  }

  /** Fades it when other things are drawn over the skin. */
  dim(on: boolean): void {
    (this.mesh.material as THREE.MeshBasicMaterial).opacity = on ? 0.35 : 0.9;
  }

  /** Colours bones by the state of their joints. */
  colour(): void {
    const colour = new THREE.Color();
    this.bones.forEach(({ joint }, i) => {
      const kind = joint === this.picked ? 'picked' : joint === this.hovered ? 'hovered' : this.beyond(joint) ? 'beyond' : 'bone';
      this.mesh.setColorAt(i, colour.set(COLOURS[kind]));
    });
    if (this.mesh.instanceColor) this.mesh.instanceColor.needsUpdate = true;
  }

  /** The joint whose bone is closest to a point on the screen, -1: none nearby. In a tie, the first. Helpers lie on bones
      that can be seen, and are picked only where there is no other. */
  pick(camera: THREE.Camera, width: number, height: number, x: number, y: number): number {
    if (!this.globals.length) return -1;
    const point = new THREE.Vector3();
    const screen = this.joints.map((_, j) => {
      point.set(...placeOf(this.globals, j)).project(camera);
      return { x: (point.x + 1) / 2 * width, y: (1 - point.y) / 2 * height, seen: Math.abs(point.z) <= 1 };
    });
    let best = -1;
    let least = NEAR;
    for (const { joint, child, helper } of this.bones) {
      const a = screen[joint];
      const b = child >= 0 ? screen[child] : a;
      if (!a.seen || !b.seen) continue;
      const long = (b.x - a.x) ** 2 + (b.y - a.y) ** 2;
      const share = long > 0 ? Math.min(Math.max(((x - a.x) * (b.x - a.x) + (y - a.y) * (b.y - a.y)) / long, 0), 1) : 0;
      const away = Math.hypot(x - a.x - share * (b.x - a.x), y - a.y - share * (b.y - a.y)) + 3 * share // prefer a bone's head to its tail
        + (helper ? NEAR - 1 : 0);
      if (away < least) [best, least] = [joint, away];
    }
    return best;
  }

  dispose(): void {
    this.mesh.geometry.dispose();
    (this.mesh.material as THREE.Material).dispose();
    this.mesh.dispose();
    this.group.removeFromParent();
  }
}
