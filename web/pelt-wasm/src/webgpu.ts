// webgpu.ts: skins in WebGPU: a compute shader (skin.wgsl) that fills vertex buffers.

import {
  deviceError, refuse, roomFor, shapeOf, type Deformed, type DeformOptions, type ShaderShape, type WebGPUBuffer,
  type WebGPUDevice,
} from "./device.js";
import { NUMBERS } from "./layout.js";
import type { Pose } from "./pose.js";
import { skinWgsl } from "./shaders.js";
import type { PackedSkin, Skin } from "./skin.js";

const THREADS = 64;

export interface WebGPUOptions {
  /** Skinned at the same time; default 1 */
  characters?: number;
}

/** A new device, with limits for large skins as far as the adapter allows. */
async function ownDevice(): Promise<GPUDevice> {
  const gpu = (globalThis.navigator as Navigator | undefined)?.gpu;
  if (!gpu) throw deviceError("this browser has no WebGPU; use createWebGL2 or pose.deform");
  const adapter = await gpu.requestAdapter();
  if (!adapter) throw deviceError("WebGPU found no graphics device; use createWebGL2 or pose.deform");
  const { maxBufferSize, maxStorageBufferBindingSize } = adapter.limits;
  return adapter.requestDevice({ requiredLimits: { maxBufferSize, maxStorageBufferBindingSize } });
}

// The same for skins of the same kind, so that devices compile once.
function constants(shape: ShaderShape, normals: boolean, scaled: boolean): string {
  const numbers = { FORM: shape.form, TILTS: shape.tilts, PHI: shape.phi, PARTS: shape.parts, RINGS: shape.rings, THREADS };
  const switches = { NORMALS: normals, SCALED: scaled, BENDS: shape.bends !== 0 };
  return Object.entries(numbers).map(([name, value]) => `const ${name}: u32 = ${value}u;\n`).join("") +
    Object.entries(switches).map(([name, value]) => `const ${name}: bool = ${value};\n`).join("");
}

export class WebGPUPlayer {
  /** Results in the file's order, 3 floats per vertex, character after character: vertex and storage buffers. */
  readonly buffers: { positions: WebGPUBuffer; normals: WebGPUBuffer };
  readonly characters: number;
  readonly #skin: Skin;
  readonly #poseStride: number;
  readonly #shape: ShaderShape;
  readonly #inputs: { numbers: GPUBuffer; words: GPUBuffer; poses: GPUBuffer; vertices: GPUBuffer };
  readonly #layout: GPUBindGroupLayout;
  readonly #group: GPUBindGroup;
  readonly #pipelines = new Map<string, Promise<GPUComputePipeline>>();
  readonly #ownsDevice: boolean;
  #staging: GPUBuffer | null = null;
  #reading: Promise<unknown> = Promise.resolve();
  #lost: string | null = null;

  /** @internal */
  constructor(skin: Skin, readonly device: WebGPUDevice, ownsDevice: boolean, packed: PackedSkin, characters: number) {
    this.#skin = skin;
    this.#ownsDevice = ownsDevice;
    this.#shape = shapeOf(packed);
    this.#poseStride = packed.poseStride;
    this.characters = characters;
    void device.lost.then(({ message, reason }) => (this.#lost = message || reason));
    const output = 12 * skin.vertexCount * characters, poses = 16 * packed.poseStride * characters;
    this.#checkLimits({ "the skin": packed.words.byteLength, "the output": output, "the poses": poses });
    const usage = GPUBufferUsage;
    packed.numbers[NUMBERS.character_count] = characters;
    this.#inputs = {
      numbers: this.#buffer(packed.numbers, usage.UNIFORM),
      words: this.#buffer(packed.words, usage.STORAGE),
      poses: this.#buffer(poses, usage.STORAGE),
      vertices: this.#buffer(slotVertices(skin), usage.STORAGE),
    };
    const result = usage.STORAGE | usage.VERTEX | usage.COPY_SRC;
    this.buffers = { positions: this.#buffer(output, result), normals: this.#buffer(output, result) };
    const kinds = ["uniform", "read-only-storage", "read-only-storage", "read-only-storage", "storage", "storage"] as const;
    this.#layout = device.createBindGroupLayout({
      entries: kinds.map((type, binding) => ({ binding, visibility: GPUShaderStage.COMPUTE, buffer: { type } })),
    });
    const { numbers, words, poses: poseBuffer, vertices } = this.#inputs;
    const buffers = [numbers, words, poseBuffer, vertices, this.buffers.positions, this.buffers.normals];
    this.#group = device.createBindGroup({
      layout: this.#layout,
      entries: buffers.map((buffer, binding) => ({ binding, resource: { buffer } })),
    });
  }

  /** Skins characters 0, 1, ... and leaves the result in `buffers`; resolves when the work is submitted. */
  async run(poses: Pose | readonly Pose[], options: { normals?: boolean } = {}): Promise<void> {
    const list = Array.isArray(poses) ? (poses as readonly Pose[]) : [poses as Pose], normals = options.normals ?? true;
    if (list.length > this.characters)
      throw new RangeError(`${list.length} characters were requested, but there is room for ${this.characters}`);
    this.#checkLost();
    let anyScales = false;
    list.forEach((pose, c) => {
      if (pose.skin !== this.#skin) throw deviceError("this pose belongs to another skin");
      const { floats, scaled } = pose.packed(this.#poseStride);
      anyScales ||= scaled;
      this.device.queue.writeBuffer(this.#inputs.poses, 16 * this.#poseStride * c, floats as Float32Array<ArrayBuffer>);
    });
    const ofBlend = normals && !this.#shape.rings;
    const pipelines = [await this.#pipeline("main", ofBlend, ofBlend && anyScales)];
    if (normals && !ofBlend) pipelines.push(await this.#pipeline("shade", false, false)); // from all positions
    const encoder = this.device.createCommandEncoder(), pass = encoder.beginComputePass();
    pass.setBindGroup(0, this.#group);
    const groups = Math.ceil(this.#skin.slotCount / THREADS);
    const across = Math.min(groups, this.device.limits.maxComputeWorkgroupsPerDimension);
    for (const pipeline of pipelines) {
      pass.setPipeline(pipeline);
      pass.dispatchWorkgroups(across, Math.ceil(groups / across), list.length);
    }
    pass.end();
    this.device.queue.submit([encoder.finish()]);
  }

  /** Skins one character and reads the result back. */
  deform(pose: Pose, options: DeformOptions = {}): Promise<Deformed> {
    const out = roomFor(this.#skin, options), normals = options.normals ?? true;
    const result = this.#reading.then(async () => {
      await this.run(pose, { normals });
      await this.read(0, out);
      return out;
    });
    this.#reading = result.catch(() => undefined);
    return result;
  }

  /** Copies a character's result. */
  async read(character: number, out: Deformed): Promise<void> {
    const size = 12 * this.#skin.vertexCount, parts = out.normals ? 2 : 1;
    this.#checkLost();
    this.#staging ??= this.device.createBuffer({ size: 2 * size, usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST });
    const staging = this.#staging, encoder = this.device.createCommandEncoder();
    encoder.copyBufferToBuffer(this.buffers.positions, size * character, staging, 0, size);
    if (out.normals) encoder.copyBufferToBuffer(this.buffers.normals, size * character, staging, size, size);
    this.device.queue.submit([encoder.finish()]);
    try {
      await staging.mapAsync(GPUMapMode.READ, 0, parts * size);
    } catch (error) {
      this.#checkLost();
      throw deviceError(`WebGPU did not return the result: ${(error as Error).message}`);
    }
    const floats = new Float32Array(staging.getMappedRange(0, parts * size));
    out.positions.set(floats.subarray(0, size / 4));
    out.normals?.set(floats.subarray(size / 4));
    staging.unmap();
  }

  /** Frees everything on the device, and the device if it was created here. */
  free(): void {
    [...Object.values(this.#inputs), ...Object.values(this.buffers), this.#staging].forEach((buffer) => buffer?.destroy());
    if (this.#ownsDevice) this.device.destroy();
  }

  #checkLost(): void {
    if (this.#lost !== null) throw deviceError(`the WebGPU device was lost (${this.#lost}): make a new one and start again`);
  }

  #checkLimits(sizes: Record<string, number>): void {
    const { limits } = this.device;
    for (const [what, bytes] of Object.entries(sizes))
      for (const name of ["maxStorageBufferBindingSize", "maxBufferSize"] as const)
        if (bytes > limits[name]) refuse(what, bytes, name, limits[name], "this device");
    if (limits.maxStorageBuffersPerShaderStage < 5)
      refuse("skinning", 5, "maxStorageBuffersPerShaderStage", limits.maxStorageBuffersPerShaderStage, "this device");
    const groups = Math.ceil(this.#skin.slotCount / THREADS), most = limits.maxComputeWorkgroupsPerDimension;
    const wanted = Math.max(this.characters, Math.ceil(groups / most));
    if (wanted > most) refuse("the skin", wanted, "maxComputeWorkgroupsPerDimension", most, "this device");
  }

  #buffer(data: number | Uint32Array, usage: number): GPUBuffer {
    const size = typeof data === "number" ? data : data.byteLength;
    const buffer = this.device.createBuffer({ size, usage: usage | GPUBufferUsage.COPY_DST });
    if (typeof data !== "number") this.device.queue.writeBuffer(buffer, 0, data as Uint32Array<ArrayBuffer>);
    return buffer;
  }

  #pipeline(entryPoint: "main" | "shade", normals: boolean, scaled: boolean): Promise<GPUComputePipeline> {
    const key = `${entryPoint} ${normals} ${scaled}`;
    const had = this.#pipelines.get(key);
    if (had) return had;
    const code = constants(this.#shape, normals, scaled) + skinWgsl;
    const made = this.device
      .createComputePipelineAsync({
        layout: this.device.createPipelineLayout({ bindGroupLayouts: [this.#layout] }),
        compute: { module: this.device.createShaderModule({ code }), entryPoint },
      })
      .catch((error: Error) => {
        throw deviceError(`the driver does not compile the shader: ${error.message}`);
      });
    this.#pipelines.set(key, made);
    return made;
  }
}

function slotVertices(skin: Skin): Uint32Array {
  const out = new Uint32Array(skin.slotCount).fill(0xffffffff);
  skin.vertexSlots.forEach((slot, vertex) => (out[slot] = vertex));
  return out;
}

/**
 * A skin on a WebGPU device: the given one, or a new one. What exceeds the device's limits is refused with the limit's
 * name and number.
 */
export async function createWebGPU(skin: Skin, device?: WebGPUDevice | null, options: WebGPUOptions = {}): Promise<WebGPUPlayer> {
  const used = device ?? (await ownDevice());
  used.pushErrorScope("out-of-memory");
  used.pushErrorScope("validation");
  let player: WebGPUPlayer | null = null, failure: unknown = null;
  try {
    player = skin.withPacked((packed) => new WebGPUPlayer(skin, used, !device, packed, options.characters ?? 1));
  } catch (error) {
    failure = error;
  }
  const validation = await used.popErrorScope(), memory = await used.popErrorScope();
  if (memory) failure ??= deviceError("there is not enough memory on the graphics device for the skin");
  if (validation) failure ??= deviceError(`WebGPU refuses the skin: ${validation.message}`);
  if (player && failure === null) return player;
  player?.free();
  if (!player && !device) used.destroy();
  throw failure;
}
