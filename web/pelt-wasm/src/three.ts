// three.ts: draws skins in three.js without a copy on the processor: its materials call pelt_vertex of gpu/skin.glsl.

import { deviceError, shapeOf } from "./device.js";
import { TEXTURE_WIDTH, textureRows, vertexChunk } from "./webgl2.js";
import type { Pose } from "./pose.js";
import type { Skin } from "./skin.js";

interface ThreeTexture {
  needsUpdate: boolean;
  dispose(): void;
}

/** The part of three.js that is used: `import * as THREE from "three"` and pass THREE. */
export interface ThreeNamespace<Texture extends ThreeTexture = ThreeTexture, Attribute = unknown> {
  DataTexture: new (data: any, width: number, height: number, format: any, type: any) => Texture;
  BufferAttribute: new (array: Float32Array, itemSize: number) => Attribute;
  RGBAIntegerFormat: unknown;
  UnsignedIntType: unknown;
  RGBAFormat: unknown;
  FloatType: unknown;
}

/** The part of a three.js material that is used. */
export interface ThreeMaterial {
  onBeforeCompile: (shader: any, renderer: any) => void;
  customProgramCacheKey: () => string;
}

export interface ThreeOptions {
  /** Capacity in poses; instance i of an InstancedMesh has pose i. Default 1. */
  characters?: number;
}

let made = 0;

/** A skin for three.js materials (WebGLRenderer). */
export class ThreeSkin<Texture extends ThreeTexture = ThreeTexture, Attribute = unknown> {
  /** Uniforms for a ShaderMaterial that has `chunk` in its vertex shader. */
  readonly uniforms: { pelt_skin: { value: Texture }; pelt_poses: { value: Texture } };
  /**
   * GLSL with `void pelt_vertex(uint slot, uint character, out vec3 position, out vec3 normal)`, for the vertex shader of
   * a ShaderMaterial: `slot` is the attribute pelt_slot, or gl_VertexID when indices were renumbered.
   */
  readonly chunk: string;
  /** For geometry.setAttribute("pelt_slot", ...) of a geometry in the file's vertex order. */
  readonly slots: Attribute;
  readonly #skin: Skin;
  readonly #poseStride: number;
  readonly #poses: Float32Array;
  readonly #characters: number;
  readonly #key = `pelt ${made++}`;

  /** @internal */
  constructor(three: ThreeNamespace<Texture, Attribute>, skin: Skin, options: ThreeOptions) {
    this.#skin = skin;
    this.#characters = options.characters ?? 1;
    const { words, chunk, poseStride } = skin.withPacked((packed) => ({
      words: padded(packed.words),
      chunk: vertexChunk(shapeOf(packed), packed.numbers, true, true),
      poseStride: packed.poseStride,
    }));
    this.chunk = chunk;
    this.#poseStride = poseStride;
    this.#poses = padded(new Float32Array(4 * poseStride * this.#characters));
    const texture = (data: Uint32Array | Float32Array, format: unknown, type: unknown) => {
      const out = new three.DataTexture(data, TEXTURE_WIDTH, data.length / 4 / TEXTURE_WIDTH, format, type);
      out.needsUpdate = true;
      return out;
    };
    this.uniforms = {
      pelt_skin: { value: texture(words, three.RGBAIntegerFormat, three.UnsignedIntType) },
      pelt_poses: { value: texture(this.#poses, three.RGBAFormat, three.FloatType) },
    };
    this.slots = new three.BufferAttribute(Float32Array.from(skin.vertexSlots), 1);
    const rest = skin.createPose();
    for (let c = 0; c < this.#characters; c++) this.upload(rest, c);
    rest.free();
  }

  /** Once per frame, after pose.update(): sets the pose for the next picture of a character. */
  upload(pose: Pose, character = 0): void {
    if (pose.skin !== this.#skin) throw deviceError("this pose belongs to another skin");
    if (!(character >= 0 && character < this.#characters))
      throw new RangeError(`character ${character} was requested, but there is room for ${this.#characters}`);
    this.#poses.set(pose.packed(this.#poseStride).floats, 4 * this.#poseStride * character);
    this.uniforms.pelt_poses.value.needsUpdate = true;
  }

  /** Makes one of three's own materials draw the skin; its geometry needs the attribute pelt_slot. Returns the
   * material. */
  applyTo<Material extends ThreeMaterial>(material: Material): Material {
    material.onBeforeCompile = (shader: { uniforms: object; vertexShader: string }) => {
      Object.assign(shader.uniforms, this.uniforms);
      shader.vertexShader = patched(shader.vertexShader, this.chunk);
    };
    material.customProgramCacheKey = () => this.#key;
    return material;
  }

  free(): void {
    Object.values(this.uniforms).forEach(({ value }) => value.dispose());
  }
}

// Pads to whole texture rows.
function padded<T extends Uint32Array | Float32Array>(from: T): T {
  const to = new (from.constructor as new (length: number) => T)(4 * TEXTURE_WIDTH * textureRows(from.length / 4));
  to.set(from);
  return to;
}

const BEGIN = `void main() {
    vec3 pelt_position, pelt_normal;
#ifdef USE_INSTANCING
    uint pelt_character = uint(gl_InstanceID);
#else
    uint pelt_character = 0u;
#endif
    pelt_vertex(uint(pelt_slot), pelt_character, pelt_position, pelt_normal);`;

const NORMAL = `vec3 objectNormal = pelt_normal;
#ifdef USE_TANGENT
    vec3 objectTangent = vec3(tangent.xyz);
#endif`;

const POSITION = `vec3 transformed = pelt_position;
#ifdef USE_ALPHAHASH
    vPosition = pelt_position;
#endif`;

// Takes position and normal from the skin instead of attributes.
function patched(shader: string, chunk: string): string {
  return shader
    .replace("void main() {", `attribute float pelt_slot;\n${chunk}\n${BEGIN}`)
    .replace("#include <beginnormal_vertex>", NORMAL)
    .replace("#include <begin_vertex>", POSITION);
}

/**
 * A skin drawn by three.js materials: the vertex shader deforms it, and only the pose is uploaded each frame.
 *
 *     const drawn = createThree(THREE, skin);
 *     geometry.setAttribute("pelt_slot", drawn.slots);
 *     const mesh = new THREE.Mesh(geometry, drawn.applyTo(new THREE.MeshStandardMaterial()));
 *     mesh.frustumCulled = false;                     // three only knows the mesh at rest
 *     drawn.upload(pose);                             // every frame
 */
export function createThree<Texture extends ThreeTexture, Attribute>(
  three: ThreeNamespace<Texture, Attribute>, skin: Skin, options: ThreeOptions = {},
): ThreeSkin<Texture, Attribute> {
  return new ThreeSkin(three, skin, options);
}
