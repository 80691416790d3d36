// face_points.ts: the key points as discs on the face.

import * as THREE from 'three';
import type { App } from '../app';
import { el } from '../dom';

/** A disc with a dark rim, visible on light and dark skin. */
function disc(): THREE.Texture {
  const canvas = el('canvas', { width: 32, height: 32 });
  const pen = canvas.getContext('2d')!;
  for (const [radius, colour] of [[15, '#0009'], [11, '#fff']] as const) {
    pen.fillStyle = colour;
    pen.beginPath();
    pen.arc(16, 16, radius, 0, 7);
    pen.fill();
  }
  return new THREE.CanvasTexture(canvas);
}

export class FacePoints {
  private readonly points: THREE.Points;

  constructor(private readonly app: App) {
    const material = new THREE.PointsMaterial({ vertexColors: true, map: disc(), alphaTest: 0.1, size: 9 * Math.min(devicePixelRatio, 2), sizeAttenuation: false, transparent: true, toneMapped: false });
    this.points = new THREE.Points(new THREE.BufferGeometry(), material);
    this.points.frustumCulled = false;
    this.points.renderOrder = 5;
    this.points.name = 'key points';
  }

  hide(): void { this.points.visible = false; }

  /** Just above the surface, in linear colours [key][3]. */
  show(keys: number[], diagonal: number, colours: Float32Array): void {
    const { positions, normals, overlay } = this.app.stage;
    this.points.visible = !!positions;
    if (!positions) return;
    const lift = 0.002 * diagonal;
    const places = new Float32Array(3 * keys.length);
    keys.forEach((vertex, k) => {
      for (let c = 0; c < 3; c++) places[3 * k + c] = positions[3 * vertex + c]! + lift * (normals?.[3 * vertex + c] ?? 0);
    });
    const put = (name: string, values: Float32Array) => {
      const old = this.points.geometry.getAttribute(name);
      if (old?.array.length !== values.length) return void this.points.geometry.setAttribute(name, new THREE.BufferAttribute(values, 3));
      (old.array as Float32Array).set(values);
      old.needsUpdate = true;
    };
    put('position', places);
    put('color', colours);
    if (this.points.parent !== overlay) overlay.add(this.points);
  }
}
