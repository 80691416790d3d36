// ground.ts: the ground that a character stands on: a grid that fades with distance, one line to a round length. Drawn by
// a shader on one square, so that lines are as fine far away as they are near.

import { Box3, Color, DoubleSide, Mesh, PlaneGeometry, ShaderMaterial, Vector2, Vector3 } from 'three';
import { onTheme } from './theme';

const VERTEX = `
varying vec2 vAt;
void main() {
  vec4 at = modelMatrix * vec4(position, 1.0);
  vAt = at.xz;
  gl_Position = projectionMatrix * viewMatrix * at;
}`;

const FRAGMENT = `
uniform vec3 colour;
uniform vec2 centre;
uniform float cell;
uniform float reach;
varying vec2 vAt;
float lines(float size) {
  vec2 at = vAt / size, wide = fwidth(at);
  vec2 near = abs(fract(at - 0.5) - 0.5) / max(wide, vec2(1e-6));
  vec2 dense = 1.0 - smoothstep(0.15, 0.6, wide); // where lines run together there is none
  vec2 line = (1.0 - min(near, vec2(1.0))) * dense;
  return max(line.x, line.y);
}
void main() {
  float fade = 1.0 - smoothstep(0.25, 1.0, length(vAt - centre) / reach);
  float strength = max(0.34 * lines(cell), 0.7 * lines(5.0 * cell)) * fade;
  if (strength < 0.01) discard;
  gl_FragColor = vec4(colour, strength);
}`;

// 1, 2 or 5 times a power of ten, at most this.
export function roundBelow(length: number): number {
  const power = 10 ** Math.floor(Math.log10(length));
  return power * ([5, 2, 1].find((step) => step * power <= length * (1 + 1e-9)) ?? 1);
}

// Characters mostly stand at height 0; others get a ground under their feet.
export function heightOf(box: Box3): number {
  const tall = box.max.y - box.min.y;
  return Math.abs(box.min.y) <= 0.05 * tall ? 0 : box.min.y;
}

export class Ground {
  private readonly uniforms = { colour: { value: new Color() }, centre: { value: new Vector2() }, cell: { value: 1 }, reach: { value: 1 } };
  private readonly material = new ShaderMaterial({
    vertexShader: VERTEX, fragmentShader: FRAGMENT, uniforms: this.uniforms, transparent: true, depthWrite: false, side: DoubleSide,
  });
  private readonly shape = new PlaneGeometry(2, 2).rotateX(-Math.PI / 2);
  private readonly height = new Vector3();

  constructor() {
    const take = () => this.uniforms.colour.value.set(getComputedStyle(document.documentElement).getPropertyValue('--faint').trim() || '#808080')
      .convertLinearToSRGB(); // it is written as it is
    onTheme(take);
    take();
  }

  place(box: Box3) {
    const size = box.getSize(new Vector3());
    const centre = box.getCenter(new Vector3());
    const reach = 1.6 * Math.max(size.length(), 1e-9);
    this.uniforms.centre.value.set(centre.x, centre.z);
    this.uniforms.reach.value = reach;
    this.uniforms.cell.value = roundBelow(size.length() / 8);
    this.height.set(centre.x, heightOf(box), centre.z);
  }

  // One for each scene; they share all there is to share.
  mesh(): Mesh {
    const mesh = new Mesh(this.shape, this.material);
    mesh.name = 'ground';
    mesh.frustumCulled = false;
    mesh.position.copy(this.height);
    mesh.scale.setScalar(this.uniforms.reach.value);
    return mesh;
  }
}
