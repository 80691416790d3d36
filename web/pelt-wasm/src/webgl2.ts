// webgl2.ts: skins in WebGL 2, by the vertex path of gpu/skin.glsl: textures hold the skin and the poses. deform() runs
// it with transform feedback; `chunk` is the same function for your own vertex shaders.

import { deviceError, refuse, roomFor, shapeOf, type Deformed, type DeformOptions, type ShaderShape } from "./device.js";
import { NUMBERS } from "./layout.js";
import type { Pose } from "./pose.js";
import { skinGlsl } from "./shaders.js";
import type { PackedSkin, Skin } from "./skin.js";

export const TEXTURE_WIDTH = 2048; // texels; the shader relies on it

/**
 * The function
 *
 *     void pelt_vertex(uint slot, uint character, out vec3 position, out vec3 normal)
 *
 * for vertex shaders of GLSL ES 3.00, with uniforms `usampler2D pelt_skin` and `sampler2D pelt_poses`. Goes after #version.
 * Normals of the deformed surface cost several times as much, since neighbours are deformed too.
 */
export function vertexChunk(shape: ShaderShape, numbers: Uint32Array, normals: boolean, scaled: boolean): string {
  const defines: Record<string, number | string> = {
    PELT_VERTEX: "", PELT_CONSTANTS: "", PELT_FORM: shape.form, PELT_TILTS: shape.tilts,
    PELT_NORMALS: Number(normals && !shape.rings), PELT_SCALED: Number(scaled), PELT_PHI: shape.phi, PELT_PARTS: shape.parts,
    PELT_RINGS: normals ? shape.rings : 0, PELT_BENDS: shape.bends,
  };
  Object.entries(NUMBERS).forEach(([name, at]) => (defines[`pelt_${name}`] = `${numbers[at]}u`));
  return Object.entries(defines).map(([name, value]) => `#define ${name} ${value}\n`).join("") + skinGlsl;
}

export const textureRows = (texels: number): number => Math.max(1, Math.ceil(texels / TEXTURE_WIDTH));

const MAIN = `
in uint slot;
out vec3 out_position;
#if PELT_NORMALS || PELT_RINGS
out vec3 out_normal;
#endif
void main() {
    vec3 p, n;
    pelt_vertex(slot, 0u, p, n);
    out_position = p;
#if PELT_NORMALS || PELT_RINGS
    out_normal = n;
#endif
}
`;
const FRAGMENT = "#version 300 es\nprecision lowp float;\nvoid main() {}\n";

// The context state that deform() changes and restores.
class KeptState {
  readonly #program; readonly #array; readonly #feedback; readonly #active; readonly #discard; readonly #copy;
  readonly #textures: (WebGLTexture | null)[]; readonly #samplers: (WebGLSampler | null)[]; readonly #unpack;

  constructor(readonly gl: WebGL2RenderingContext) {
    this.#program = gl.getParameter(gl.CURRENT_PROGRAM) as WebGLProgram | null;
    this.#array = gl.getParameter(gl.VERTEX_ARRAY_BINDING) as WebGLVertexArrayObject | null;
    this.#feedback = gl.getParameter(gl.TRANSFORM_FEEDBACK_BINDING) as WebGLTransformFeedback | null;
    this.#copy = gl.getParameter(gl.COPY_READ_BUFFER_BINDING) as WebGLBuffer | null;
    this.#discard = gl.isEnabled(gl.RASTERIZER_DISCARD);
    this.#active = gl.getParameter(gl.ACTIVE_TEXTURE) as number;
    this.#unpack = [gl.UNPACK_ALIGNMENT, gl.UNPACK_ROW_LENGTH, gl.UNPACK_SKIP_ROWS, gl.UNPACK_SKIP_PIXELS,
      gl.UNPACK_FLIP_Y_WEBGL, gl.UNPACK_PREMULTIPLY_ALPHA_WEBGL].map((name) => [name, gl.getParameter(name)] as const);
    const units = [0, 1].map((unit) => {
      gl.activeTexture(gl.TEXTURE0 + unit);
      return [gl.getParameter(gl.TEXTURE_BINDING_2D), gl.getParameter(gl.SAMPLER_BINDING)] as const;
    });
    this.#textures = units.map(([texture]) => texture as WebGLTexture | null);
    this.#samplers = units.map(([, sampler]) => sampler as WebGLSampler | null);
    gl.pixelStorei(gl.UNPACK_ALIGNMENT, 4);
    for (const [name] of this.#unpack.slice(1)) gl.pixelStorei(name, 0);
    [0, 1].forEach((unit) => gl.bindSampler(unit, null));
  }

  restore(): void {
    const { gl } = this;
    for (const [name, value] of this.#unpack) gl.pixelStorei(name, value as number);
    this.#textures.forEach((texture, unit) => {
      gl.activeTexture(gl.TEXTURE0 + unit);
      gl.bindTexture(gl.TEXTURE_2D, texture);
      gl.bindSampler(unit, this.#samplers[unit]!);
    });
    gl.activeTexture(this.#active);
    gl.bindTransformFeedback(gl.TRANSFORM_FEEDBACK, this.#feedback);
    gl.bindVertexArray(this.#array);
    gl.bindBuffer(gl.COPY_READ_BUFFER, this.#copy);
    if (!this.#discard) gl.disable(gl.RASTERIZER_DISCARD);
    gl.useProgram(this.#program);
  }
}

// A program with its output buffers.
interface Feedback {
  program: WebGLProgram;
  feedback: WebGLTransformFeedback;
}

export class WebGL2Player {
  readonly #skin: Skin;
  readonly #gl: WebGL2RenderingContext;
  readonly #shape: ShaderShape;
  readonly #numbers: Uint32Array;
  readonly #poseStride: number;
  readonly #textures: [WebGLTexture, WebGLTexture];
  readonly #array: WebGLVertexArrayObject;
  readonly #slots: WebGLBuffer;
  readonly #positions: WebGLBuffer;
  #normals: WebGLBuffer | null = null;
  readonly #programs = new Map<string, Feedback>();

  constructor(skin: Skin, gl: WebGL2RenderingContext) {
    this.#skin = skin;
    this.#gl = gl;
    const units = gl.getParameter(gl.MAX_VERTEX_TEXTURE_IMAGE_UNITS) as number;
    if (units < 2) refuse("skinning", 2, "MAX_VERTEX_TEXTURE_IMAGE_UNITS", units);
    const kept = new KeptState(gl);
    try {
      const made = skin.withPacked((packed) => this.#upload(packed));
      this.#textures = made.textures;
      this.#shape = made.shape;
      this.#numbers = made.numbers;
      this.#poseStride = made.poseStride;
      this.#slots = this.#buffer(skin.vertexSlots, gl.STATIC_DRAW);
      this.#positions = this.#buffer(12 * skin.vertexCount, gl.DYNAMIC_COPY);
      this.#array = gl.createVertexArray();
      gl.bindVertexArray(this.#array);
      const bound = gl.getParameter(gl.ARRAY_BUFFER_BINDING) as WebGLBuffer | null;
      gl.bindBuffer(gl.ARRAY_BUFFER, this.#slots);
      gl.enableVertexAttribArray(0);
      gl.vertexAttribIPointer(0, 1, gl.UNSIGNED_INT, 0, 0);
      gl.bindBuffer(gl.ARRAY_BUFFER, bound);
      this.#check("the skin");
    } finally {
      kept.restore();
    }
  }

  /** The results in the file's order, 3 floats per vertex; for attributes of your own programs. */
  get buffers(): { positions: WebGLBuffer; normals: WebGLBuffer | null } {
    return { positions: this.#positions, normals: this.#normals };
  }

  /** Skins and leaves the result in `buffers`. */
  run(pose: Pose, options: { normals?: boolean } = {}): void {
    this.#checkPose(pose);
    const gl = this.#gl, kept = new KeptState(gl), normals = options.normals ?? true;
    try {
      const { floats, scaled } = pose.packed(this.#poseStride);
      gl.activeTexture(gl.TEXTURE0 + 1);
      gl.bindTexture(gl.TEXTURE_2D, this.#textures[1]);
      this.#put(floats, gl.RGBA, gl.FLOAT);
      gl.activeTexture(gl.TEXTURE0);
      gl.bindTexture(gl.TEXTURE_2D, this.#textures[0]);
      const { program, feedback } = this.#program(normals, normals && scaled && !this.#shape.rings);
      gl.useProgram(program);
      gl.bindVertexArray(this.#array);
      gl.bindTransformFeedback(gl.TRANSFORM_FEEDBACK, feedback);
      gl.enable(gl.RASTERIZER_DISCARD);
      gl.beginTransformFeedback(gl.POINTS);
      gl.drawArrays(gl.POINTS, 0, this.#skin.vertexCount);
      gl.endTransformFeedback();
      this.#check("skinning");
    } finally {
      kept.restore();
    }
  }

  /** Skins and reads the result back, which waits for the device. */
  deform(pose: Pose, options: DeformOptions = {}): Deformed {
    const out = roomFor(this.#skin, options), normals = options.normals ?? true;
    this.run(pose, { normals });
    this.#read(this.#positions, out.positions);
    if (normals && out.normals) this.#read(this.#normals!, out.normals);
    this.#check("reading the result");
    return out;
  }

  free(): void {
    const gl = this.#gl;
    for (const { program, feedback } of this.#programs.values()) {
      gl.deleteProgram(program);
      gl.deleteTransformFeedback(feedback);
    }
    this.#programs.clear();
    this.#textures.forEach((texture) => gl.deleteTexture(texture));
    gl.deleteVertexArray(this.#array);
    [this.#slots, this.#positions, this.#normals].forEach((buffer) => gl.deleteBuffer(buffer));
  }

  // -- Making ---------------------------------------------------------------------------------------------------------

  #upload(packed: PackedSkin) {
    const gl = this.#gl;
    const textures: [WebGLTexture, WebGLTexture] = [
      this.#texture(gl.RGBA32UI, textureRows(packed.words.length / 4), "the skin's texture"),
      this.#texture(gl.RGBA32F, textureRows(packed.poseStride), "the texture of a pose"),
    ];
    gl.bindTexture(gl.TEXTURE_2D, textures[0]);
    this.#put(packed.words, gl.RGBA_INTEGER, gl.UNSIGNED_INT);
    return { textures, shape: shapeOf(packed), numbers: packed.numbers, poseStride: packed.poseStride };
  }

  #texture(format: number, rows: number, what: string): WebGLTexture {
    const gl = this.#gl, most = gl.getParameter(gl.MAX_TEXTURE_SIZE) as number;
    if (Math.max(rows, TEXTURE_WIDTH) > most) refuse(what, Math.max(rows, TEXTURE_WIDTH), "MAX_TEXTURE_SIZE", most);
    const texture = gl.createTexture();
    gl.bindTexture(gl.TEXTURE_2D, texture);
    gl.texStorage2D(gl.TEXTURE_2D, 1, format, TEXTURE_WIDTH, rows);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.NEAREST);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MAG_FILTER, gl.NEAREST);
    return texture;
  }

  #buffer(data: number | Uint32Array, usage: number): WebGLBuffer {
    const gl = this.#gl, buffer = gl.createBuffer();
    gl.bindBuffer(gl.COPY_READ_BUFFER, buffer);
    if (typeof data === "number") gl.bufferData(gl.COPY_READ_BUFFER, data, usage);
    else gl.bufferData(gl.COPY_READ_BUFFER, data, usage);
    gl.bindBuffer(gl.COPY_READ_BUFFER, null); // feedback buffers must not be bound anywhere else
    return buffer;
  }

  #program(normals: boolean, scaled: boolean): Feedback {
    const key = `${normals} ${scaled}`, had = this.#programs.get(key);
    if (had) return had;
    const gl = this.#gl;
    if (normals) this.#normals ??= this.#buffer(12 * this.#skin.vertexCount, gl.DYNAMIC_COPY);
    const text = `#version 300 es\n${vertexChunk(this.#shape, this.#numbers, normals, scaled)}${MAIN}`;
    const program = this.#link(text, normals ? ["out_position", "out_normal"] : ["out_position"]);
    const feedback = gl.createTransformFeedback();
    gl.bindTransformFeedback(gl.TRANSFORM_FEEDBACK, feedback);
    gl.bindBufferBase(gl.TRANSFORM_FEEDBACK_BUFFER, 0, this.#positions);
    if (normals) gl.bindBufferBase(gl.TRANSFORM_FEEDBACK_BUFFER, 1, this.#normals);
    gl.useProgram(program);
    gl.uniform1i(gl.getUniformLocation(program, "pelt_skin"), 0);
    gl.uniform1i(gl.getUniformLocation(program, "pelt_poses"), 1);
    const made = { program, feedback };
    this.#programs.set(key, made);
    return made;
  }

  #link(vertex: string, outputs: string[]): WebGLProgram {
    const gl = this.#gl, program = gl.createProgram();
    const shaders = ([[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, FRAGMENT]] as const).map(([type, text]) => {
      const shader = gl.createShader(type);
      if (!shader) throw deviceError("the WebGL context was lost: make a new one and start again");
      gl.shaderSource(shader, text);
      gl.compileShader(shader);
      gl.attachShader(program, shader);
      return shader;
    });
    gl.bindAttribLocation(program, 0, "slot");
    gl.transformFeedbackVaryings(program, outputs, gl.SEPARATE_ATTRIBS);
    gl.linkProgram(program);
    const linked = gl.getProgramParameter(program, gl.LINK_STATUS) as boolean;
    const log = linked ? "" : gl.getShaderInfoLog(shaders[0]!) || gl.getProgramInfoLog(program) || "no reason was given";
    shaders.forEach((shader) => gl.deleteShader(shader));
    if (linked) return program;
    gl.deleteProgram(program);
    if (gl.isContextLost()) throw deviceError("the WebGL context was lost: make a new one and start again");
    throw deviceError(`the driver does not compile the shader: ${log}`);
  }

  // -- Every frame ----------------------------------------------------------------------------------------------------

  #checkPose(pose: Pose): void {
    if (pose.skin !== this.#skin) throw deviceError("this pose belongs to another skin");
  }

  // Whole rows of the bound texture, and the remaining partial row.
  #put(data: Uint32Array | Float32Array, format: number, type: number): void {
    const gl = this.#gl, texels = data.length / 4, rows = Math.floor(texels / TEXTURE_WIDTH), rest = texels % TEXTURE_WIDTH;
    if (rows) gl.texSubImage2D(gl.TEXTURE_2D, 0, 0, 0, TEXTURE_WIDTH, rows, format, type, data, 0);
    if (rest) gl.texSubImage2D(gl.TEXTURE_2D, 0, 0, rows, rest, 1, format, type, data, 4 * TEXTURE_WIDTH * rows);
  }

  #read(buffer: WebGLBuffer, out: Float32Array): void {
    const gl = this.#gl, bound = gl.getParameter(gl.COPY_READ_BUFFER_BINDING) as WebGLBuffer | null;
    gl.bindBuffer(gl.COPY_READ_BUFFER, buffer);
    gl.getBufferSubData(gl.COPY_READ_BUFFER, 0, out);
    gl.bindBuffer(gl.COPY_READ_BUFFER, bound);
  }

  #check(doing: string): void {
    const gl = this.#gl, code = gl.getError();
    if (code === gl.NO_ERROR) return;
    if (code === gl.CONTEXT_LOST_WEBGL || gl.isContextLost())
      throw deviceError(`the WebGL context was lost before ${doing}: make a new one and start again`);
    if (code === gl.OUT_OF_MEMORY) throw deviceError(`there is not enough memory on the graphics device for ${doing}`);
    throw deviceError(`WebGL reports error 0x${code.toString(16)} for ${doing}`);
  }
}

/**
 * A skin in a WebGL 2 context. What exceeds the context's limits is refused with the limit's name and number.
 */
export function createWebGL2(skin: Skin, gl: WebGL2RenderingContext): WebGL2Player {
  return new WebGL2Player(skin, gl);
}
