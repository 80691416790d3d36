// gpu_page.mjs: skins of every form by WebGPU, WebGL 2 and three.js in a browser, against the processor's. See gpu.mjs.

import * as THREE from "three";
import { createThree, createWebGL2, createWebGPU, loadPelt } from "pelt-wasm";
import { difference, posed, readForms } from "./forms.mjs";

const pelt = await loadPelt();
const forms = readForms(await (await fetch("/file/0")).arrayBuffer());
const LIMIT = 2e-6;

const context = new OffscreenCanvas(4, 4).getContext("webgl2");
const adapter = await navigator.gpu?.requestAdapter();
const device = await adapter?.requestDevice();
const complaints = [];
device?.addEventListener("uncapturederror", (event) => complaints.push(event.error.message));

const formOf = (name) => forms.find((form) => form.name === name);

// All poses of a form in one player; without normals every third form, since compiling shaders is what takes long.
async function compare(make, chosen = forms) {
  const wrong = [];
  for (const [i, form] of chosen.entries()) {
    const skin = pelt.open(form.file), player = await make(skin);
    for (const truth of form.poses) {
      const pose = posed(skin, truth);
      wrong.push(difference(form, truth, await player.deform(pose), LIMIT));
      if (i % 3 === 2) wrong.push(difference(form, truth, await player.deform(pose, { normals: false }), LIMIT));
      pose.free();
    }
    player.free();
    skin.free();
  }
  return wrong.filter(Boolean).concat(complaints.splice(0));
}

// Of forms whose shaders differ only in constants, the last.
function fewForms() {
  const kinds = new Map();
  for (const form of forms) {
    const skin = pelt.open(form.file);
    const kind = skin.withPacked(({ form: kind, tilts, phi, parts, rings, bends }) => `${kind} ${tilts} ${phi} ${parts} ${rings} ${bends}`);
    kinds.set(form.name.includes("scaled") ? `${kind} scaled` : kind, form);
    skin.free();
  }
  return [...kinds.values()];
}

globalThis.hasWebGPU = () => Boolean(device);
globalThis.webgpu = () => compare((skin) => createWebGPU(skin, device));
globalThis.webgl2 = () => compare((skin) => createWebGL2(skin, context), fewForms());

// Several characters at once; the last does not scale.
globalThis.crowd = async () => {
  const form = formOf("basis, scaled"), skin = pelt.open(form.file);
  const player = await createWebGPU(skin, device, { characters: form.poses.length });
  await player.run(form.poses.map((truth) => posed(skin, truth)));
  const wrong = [];
  for (const [c, truth] of form.poses.entries()) {
    const out = { positions: new Float32Array(3 * form.vertices), normals: new Float32Array(3 * form.vertices) };
    await player.read(c, out);
    wrong.push(difference(form, truth, out, LIMIT));
  }
  player.free();
  skin.free();
  return wrong.filter(Boolean).concat(complaints.splice(0));
};

// Everything that a player makes it deletes.
globalThis.leaks = async () => {
  const form = formOf("basis, scaled"), skin = pelt.open(form.file), gl = context, left = {}, wrapped = [];
  for (const kind of ["Buffer", "Texture", "Program", "Shader", "VertexArray", "TransformFeedback"]) {
    const [make, end] = [`create${kind}`, `delete${kind}`], alive = new Set();
    gl[make] = (...words) => { const made = WebGL2RenderingContext.prototype[make].apply(gl, words); alive.add(made); return made; };
    gl[end] = (one) => { alive.delete(one); WebGL2RenderingContext.prototype[end].call(gl, one); };
    wrapped.push(make, end);
    left[kind] = alive;
  }
  const player = createWebGL2(skin, gl), poses = form.poses.map((truth) => posed(skin, truth));
  for (const pose of poses) player.deform(pose), player.deform(pose, { normals: false });
  const wrong = player.buffers.positions && player.buffers.normals ? [] : ["there are no buffers"];
  player.free();
  for (const [kind, alive] of Object.entries(left)) if (alive.size) wrong.push(`${alive.size} of ${kind}`);
  wrapped.forEach((name) => delete gl[name]);
  const buffers = new Set();
  device.createBuffer = (words) => {
    const made = GPUDevice.prototype.createBuffer.call(device, words);
    made.destroy = () => { buffers.delete(made); GPUBuffer.prototype.destroy.call(made); };
    buffers.add(made);
    return made;
  };
  const other = await createWebGPU(skin, device);
  await other.deform(poses[0]);
  other.free();
  delete device.createBuffer;
  if (buffers.size) wrong.push(`${buffers.size} buffers of WebGPU`);
  await other.device.queue.onSubmittedWorkDone(); // the caller's device lives on
  const own = await createWebGPU(skin);
  own.free();
  await own.device.lost;
  skin.free();
  return wrong.concat(complaints.splice(0));
};

// More workgroups than fit one dimension are in two.
globalThis.wide = async () => {
  const limits = Object.fromEntries(["maxStorageBufferBindingSize", "maxBufferSize", "maxStorageBuffersPerShaderStage"].map((name) => [name, device.limits[name]]));
  Object.defineProperty(device, "limits", { value: { ...limits, maxComputeWorkgroupsPerDimension: 20 }, configurable: true });
  const wrong = await compare((skin) => createWebGPU(skin, device), [formOf("blend")]);
  delete device.limits;
  return wrong;
};

// The context's state is restored, so that other programs' drawing continues; also where nothing of it is as usual.
globalThis.unusual = () => {
  const gl = context, skin = pelt.open(formOf("blend").file), pose = skin.createPose(), wrong = [], player = createWebGL2(skin, gl);
  const program = gl.createProgram(), copied = gl.createBuffer(), samplers = [0, 1].map(() => gl.createSampler()), textures = [0, 1].map(() => gl.createTexture()), feedback = gl.createTransformFeedback();
  [[gl.VERTEX_SHADER, "void main() { gl_Position = vec4(0); }"], [gl.FRAGMENT_SHADER, "void main() {}"]].forEach(([type, text]) => {
    const shader = gl.createShader(type);
    gl.shaderSource(shader, text), gl.compileShader(shader), gl.attachShader(program, shader);
  });
  gl.linkProgram(program), gl.useProgram(program);
  gl.bindBuffer(gl.COPY_READ_BUFFER, copied), gl.bindTransformFeedback(gl.TRANSFORM_FEEDBACK, feedback), gl.enable(gl.RASTERIZER_DISCARD);
  [0, 1].forEach((unit) => { gl.activeTexture(gl.TEXTURE0 + unit), gl.bindTexture(gl.TEXTURE_2D, textures[unit]), gl.bindSampler(unit, samplers[unit]); });
  const store = { UNPACK_ALIGNMENT: 2, UNPACK_ROW_LENGTH: 7, UNPACK_SKIP_ROWS: 3, UNPACK_SKIP_PIXELS: 2, UNPACK_FLIP_Y_WEBGL: true, UNPACK_PREMULTIPLY_ALPHA_WEBGL: true };
  for (const [name, value] of Object.entries(store)) gl.pixelStorei(gl[name], value);
  const other = createWebGL2(skin, gl), form = formOf("blend"), truth = form.poses[0];
  for (const one of [player, other]) wrong.push(difference(form, truth, one.deform(posed(skin, truth)), LIMIT));
  const want = (name, value) => gl.getParameter(gl[name]) === value || wrong.push(name);
  want("CURRENT_PROGRAM", program), want("COPY_READ_BUFFER_BINDING", copied), want("TRANSFORM_FEEDBACK_BINDING", feedback), want("ACTIVE_TEXTURE", gl.TEXTURE0 + 1);
  for (const [name, value] of Object.entries(store)) want(name, value);
  if (!gl.isEnabled(gl.RASTERIZER_DISCARD)) wrong.push("RASTERIZER_DISCARD");
  [0, 1].forEach((unit) => { gl.activeTexture(gl.TEXTURE0 + unit), want("TEXTURE_BINDING_2D", textures[unit]), want("SAMPLER_BINDING", samplers[unit]), gl.bindTexture(gl.TEXTURE_2D, null), gl.bindSampler(unit, null); });
  for (const name of Object.keys(store)) gl.pixelStorei(gl[name], name === "UNPACK_ALIGNMENT" ? 4 : 0);
  gl.disable(gl.RASTERIZER_DISCARD), gl.bindTransformFeedback(gl.TRANSFORM_FEEDBACK, null), gl.bindBuffer(gl.COPY_READ_BUFFER, null), gl.useProgram(null), gl.activeTexture(gl.TEXTURE0);
  pose.free(), player.free(), other.free(), skin.free();
  return wrong.filter(Boolean);
};

globalThis.state = () => {
  const gl = context, skin = pelt.open(formOf("blend").file), pose = skin.createPose();
  const buffer = gl.createBuffer(), texture = gl.createTexture(), array = gl.createVertexArray();
  gl.bindVertexArray(array);
  gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
  gl.activeTexture(gl.TEXTURE0 + 1);
  gl.bindTexture(gl.TEXTURE_2D, texture);
  gl.activeTexture(gl.TEXTURE0 + 3);
  gl.pixelStorei(gl.UNPACK_FLIP_Y_WEBGL, true);
  gl.pixelStorei(gl.UNPACK_ALIGNMENT, 1);
  const player = createWebGL2(skin, gl);
  player.deform(pose);
  player.free();
  skin.free();
  const wrong = [];
  const want = (name, value) => gl.getParameter(gl[name]) === value || wrong.push(name);
  want("VERTEX_ARRAY_BINDING", array), want("ARRAY_BUFFER_BINDING", buffer), want("ACTIVE_TEXTURE", gl.TEXTURE0 + 3);
  want("UNPACK_FLIP_Y_WEBGL", true), want("UNPACK_ALIGNMENT", 1), want("CURRENT_PROGRAM", null), want("TRANSFORM_FEEDBACK_BINDING", null);
  gl.activeTexture(gl.TEXTURE0 + 1);
  want("TEXTURE_BINDING_2D", texture);
  if (gl.isEnabled(gl.RASTERIZER_DISCARD)) wrong.push("RASTERIZER_DISCARD");
  gl.pixelStorei(gl.UNPACK_FLIP_Y_WEBGL, false);
  gl.bindVertexArray(null);
  return wrong;
};

// The messages of refusals.
async function sentence(call) {
  try {
    await call();
  } catch (error) {
    return `${error.name}: ${error.message}`;
  }
  return "nothing was refused";
}

globalThis.refusals = async () => {
  const skin = pelt.open(formOf("blend").file), pose = skin.createPose(), out = {};
  for (const [name, value] of [["MAX_TEXTURE_SIZE", 5], ["MAX_VERTEX_TEXTURE_IMAGE_UNITS", 1]]) {
    context.getParameter = (asked) =>
      asked === context[name] ? value : WebGL2RenderingContext.prototype.getParameter.call(context, asked);
    out[name] = await sentence(() => createWebGL2(skin, context));
    delete context.getParameter;
  }
  for (const [name, value] of [["maxStorageBufferBindingSize", 5000], ["maxBufferSize", 5000], ["maxStorageBuffersPerShaderStage", 4]]) {
    const limits = Object.fromEntries(["maxStorageBufferBindingSize", "maxBufferSize", "maxStorageBuffersPerShaderStage",
      "maxComputeWorkgroupsPerDimension"].map((limit) => [limit, device.limits[limit]]));
    Object.defineProperty(device, "limits", { value: { ...limits, [name]: value }, configurable: true });
    out[name] = await sentence(() => createWebGPU(skin, device));
    delete device.limits;
  }
  const other = pelt.open(formOf("blend").file), player = createWebGL2(skin, context);
  out.foreign = await sentence(() => player.deform(other.createPose()));
  out.small = await sentence(() => player.deform(pose, { into: { positions: new Float32Array(3), normals: null } }));
  const drawn = createThree(THREE, skin), gpu = await createWebGPU(skin, device);
  out.threeForeign = await sentence(() => drawn.upload(other.createPose()));
  out.threeRoom = await sentence(() => drawn.upload(pose, 1));
  out.threeNegative = await sentence(() => drawn.upload(pose, -1));
  out.gpuForeign = await sentence(() => gpu.deform(other.createPose()));
  out.gpuRoom = await sentence(() => gpu.run([pose, pose]));
  out.keys = drawn.applyTo({}).customProgramCacheKey() !== createThree(THREE, skin).applyTo({}).customProgramCacheKey();
  let disposed = 0;
  Object.values(drawn.uniforms).forEach(({ value }) => value.addEventListener("dispose", () => disposed++));
  drawn.free();
  out.disposed = disposed;
  Object.defineProperty(navigator, "gpu", { value: undefined, configurable: true });
  out.noGpu = await sentence(() => createWebGPU(skin));
  Object.defineProperty(navigator, "gpu", { value: { requestAdapter: async () => null }, configurable: true });
  out.noAdapter = await sentence(() => createWebGPU(skin));
  delete navigator.gpu;
  const lost = new OffscreenCanvas(4, 4).getContext("webgl2"), lostPlayer = createWebGL2(skin, lost);
  lost.getExtension("WEBGL_lose_context").loseContext();
  out.lostContext = await sentence(() => lostPlayer.deform(pose));
  const own = await createWebGPU(skin);
  own.device.destroy();
  await own.device.lost;
  out.lostDevice = await sentence(() => own.deform(pose));
  return out;
};

// three.js: every vertex as a point in its own pixel, whose colour is its position.
const POINTS = `attribute float pelt_slot; attribute vec2 pixel; out vec3 where; uniform bool of_normals;
void main() {
    vec3 p, n;
    pelt_vertex(uint(pelt_slot), 1u, p, n);
    where = of_normals ? n : p;
    gl_Position = vec4(pixel, 0.0, 1.0);
    gl_PointSize = 1.0;
}`;
const COLOUR = "in vec3 where; layout(location = 0) out vec4 colour; void main() { colour = vec4(where, 1.0); }";

globalThis.three = () => {
  const renderer = new THREE.WebGLRenderer({ canvas: new OffscreenCanvas(64, 64) }), wrong = [];
  for (const name of ["blend", "basis in 16 bits", "weighted, mixed", "arm with a seam and rings"]) {
    const form = formOf(name), skin = pelt.open(form.file), drawn = createThree(THREE, skin, { characters: 2 });
    const truth = form.poses[0], pose = posed(skin, truth), side = 64;
    drawn.upload(pose, 1);
    const geometry = new THREE.BufferGeometry(), pixels = new Float32Array(2 * form.vertices);
    for (let v = 0; v < form.vertices; v++)
      pixels.set([((v % side) + 0.5) / side * 2 - 1, (Math.floor(v / side) + 0.5) / side * 2 - 1], 2 * v);
    geometry.setAttribute("position", new THREE.BufferAttribute(new Float32Array(3 * form.vertices), 3));
    geometry.setAttribute("pixel", new THREE.BufferAttribute(pixels, 2));
    geometry.setAttribute("pelt_slot", drawn.slots);
    const uniforms = { ...drawn.uniforms, of_normals: { value: false } };
    const material = new THREE.ShaderMaterial({ glslVersion: THREE.GLSL3, uniforms, vertexShader: drawn.chunk + POINTS, fragmentShader: COLOUR });
    const points = new THREE.Points(geometry, material), scene = new THREE.Scene().add(points);
    const target = new THREE.WebGLRenderTarget(side, side, { type: THREE.FloatType, magFilter: THREE.NearestFilter, minFilter: THREE.NearestFilter });
    points.frustumCulled = false;
    const read = (ofNormals) => {
      const seen = new Float32Array(4 * side * side);
      uniforms.of_normals.value = ofNormals;
      renderer.setRenderTarget(target);
      renderer.render(scene, new THREE.Camera());
      renderer.readRenderTargetPixels(target, 0, 0, side, side, seen);
      return Float32Array.from({ length: 3 * form.vertices }, (_, i) => seen[4 * Math.floor(i / 3) + (i % 3)]);
    };
    wrong.push(difference(form, truth, { positions: read(false), normals: read(true) }, LIMIT));
    drawn.free();
    skin.free();
  }
  renderer.dispose();
  return wrong.filter(Boolean);
};

// A picture by one of three's own materials with a skin, next to one of a geometry deformed by pose.deform.
globalThis.materials = () => {
  const form = formOf("arm with a seam, kernel") , skin = pelt.open(form.file), truth = form.poses[1], pose = posed(skin, truth);
  const drawn = createThree(THREE, skin), side = 128, picture = (mesh) => {
    const renderer = new THREE.WebGLRenderer({ canvas: new OffscreenCanvas(side, side), preserveDrawingBuffer: true });
    const scene = new THREE.Scene().add(mesh, new THREE.HemisphereLight(0xff8040, 0x2040ff, 3));
    const camera = new THREE.PerspectiveCamera(50, 1, 0.01, 10);
    const { low, high } = pose.box, middle = low.map((l, i) => (l + high[i]) / 2);
    camera.position.set(middle[0], middle[1], middle[2] + 1);
    mesh.frustumCulled = false;
    renderer.render(scene, camera);
    const gl = renderer.getContext(), pixels = new Uint8Array(4 * side * side);
    gl.readPixels(0, 0, side, side, gl.RGBA, gl.UNSIGNED_BYTE, pixels);
    renderer.dispose();
    return pixels;
  };
  drawn.upload(pose);
  const positions = new Float32Array(3 * form.vertices), normals = new Float32Array(3 * form.vertices);
  pose.deform(positions, normals);
  const geometry = (p, n) => {
    const out = new THREE.BufferGeometry();
    out.setAttribute("position", new THREE.BufferAttribute(p, 3));
    out.setAttribute("normal", new THREE.BufferAttribute(n, 3));
    return out;
  };
  const moved = geometry(skin.restPositions(), skin.restNormals());
  moved.setAttribute("pelt_slot", drawn.slots);
  const kind = { side: THREE.DoubleSide };
  const byShader = picture(new THREE.Mesh(moved, drawn.applyTo(new THREE.MeshStandardMaterial(kind))));
  const byWasm = picture(new THREE.Mesh(geometry(positions, normals), new THREE.MeshStandardMaterial(kind)));
  const atRest = picture(new THREE.Mesh(geometry(skin.restPositions(), skin.restNormals()), new THREE.MeshStandardMaterial(kind)));
  const different = (a, b) => a.reduce((count, value, i) => count + Number(Math.abs(value - b[i]) > 3), 0);
  drawn.free();
  skin.free();
  return { lit: byWasm.filter((value) => value > 0 && value < 255).length, gap: different(byShader, byWasm), atRest: different(atRest, byWasm) };
};

// Milliseconds per frame: pose, deform, and reading back a device's result.
globalThis.times = async () => {
  const form = forms.reduce((a, b) => (b.vertices > a.vertices ? b : a)), skin = pelt.open(form.file);
  const pose = posed(skin, form.poses[0]), out = { positions: new Float32Array(3 * form.vertices), normals: new Float32Array(3 * form.vertices) };
  const players = { WebGPU: device && (await createWebGPU(skin, device)), "WebGL 2": createWebGL2(skin, context) };
  const runs = { wasm: () => pose.deform(out.positions, out.normals) };
  for (const [name, player] of Object.entries(players)) if (player) runs[name] = () => player.deform(pose, { into: out });
  const lines = [];
  for (const [name, run] of Object.entries(runs)) {
    await run();
    const start = performance.now();
    let frames = 0;
    for (; performance.now() - start < 150; frames++) {
      pose.update();
      await run();
    }
    lines.push(`${form.name}, ${form.vertices} vertices by ${name}: ${((performance.now() - start) / frames).toFixed(2)} ms a frame`);
  }
  skin.free();
  return lines;
};

globalThis.ready = true;
