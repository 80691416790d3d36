// plays_page.mjs: plays an exported file in three.js and reads back where the vertex shader puts the vertices.
//
// The shaders are three.js's own, including their morphing and skinning. At the end each vertex becomes one pixel of a
// float picture, by index, and its colour is its position or normal in scene space.

import { AnimationMixer, Camera, FloatType, NearestFilter, Vector3, WebGLRenderer, WebGLRenderTarget } from "three";
import { GLTFLoader } from "three/addons/loaders/GLTFLoader.js";
import { readDump, vertexRanges } from "./dump.mjs";

const WIDTH = 1024;
const MOST_FRAMES = 12; // of a clip, evenly spread

const renderer = new WebGLRenderer();
if (!renderer.extensions.get("EXT_color_buffer_float")) throw new Error("this browser cannot draw floats");
renderer.setClearColor(0, 0);

const VERTEX = (value) => `
  vPlayed = ${value};
  gl_Position = vec4((vec2(gl_VertexID % ${WIDTH}, gl_VertexID / ${WIDTH}) + 0.5) / vec2(${WIDTH}, ROWS) * 2.0 - 1.0, 0.0, 1.0);
  gl_PointSize = 1.0;`;

// The mesh's own material, which outputs the value as a colour. Cached, because shaders take long to compile.
const materials = new Map();
function reading(material, value, rows) {
  const key = `${material.uuid} ${value} ${rows}`;
  if (!materials.has(key)) materials.set(key, changed(material, value, rows));
  return materials.get(key);
}

function changed(material, value, rows) {
  const copy = material.clone();
  copy.transparent = false;
  copy.onBeforeCompile = (shader) => {
    shader.vertexShader = `varying highp vec3 vPlayed;\n${shader.vertexShader}`.replace("#include <fog_vertex>",
      `#include <fog_vertex>\n${VERTEX(value).replace("ROWS", `${rows}.0`)}`);
    shader.fragmentShader = "varying highp vec3 vPlayed;\nvoid main() { gl_FragColor = vec4(vPlayed, 1.0); }";
  };
  copy.customProgramCacheKey = () => value + rows;
  return copy;
}

// Draws a mesh as points and returns [vertex][4] floats; the last is 0 where the mesh has no such vertex.
function draw(mesh, value) {
  const count = mesh.geometry.attributes.position.count;
  const rows = Math.ceil(count / WIDTH);
  const target = new WebGLRenderTarget(WIDTH, rows,
    { type: FloatType, minFilter: NearestFilter, magFilter: NearestFilter, depthBuffer: false });
  const own = mesh.material;
  mesh.material = reading(own, value, rows);
  Object.assign(mesh, { isMesh: false, isPoints: true, frustumCulled: false });
  renderer.setRenderTarget(target);
  renderer.clear();
  const camera = new Camera();
  const { parent } = mesh;
  const hidden = [];
  parent.traverse((other) => other !== mesh && other.isMesh && other.visible && hidden.push(other) && (other.visible = false));
  renderer.render(mesh, camera);
  const pixels = new Float32Array(4 * WIDTH * rows);
  renderer.readRenderTargetPixels(target, 0, 0, WIDTH, rows, pixels);
  for (const other of hidden) other.visible = true;
  target.dispose();
  Object.assign(mesh, { isMesh: true, isPoints: false, material: own });
  return pixels;
}

const POSITION = "(modelMatrix * vec4(transformed, 1.0)).xyz";
const NORMAL = "inverseTransformDirection(transformedNormal, viewMatrix)";

// The largest distance, and the sum of squared angles, between the current scene and a frame of the dump.
function look(meshes, { positions, normals }) {
  let first = 0;
  let off = 0;
  let squares = 0;
  const a = new Vector3();
  const b = new Vector3();
  for (const mesh of meshes) {
    const count = mesh.geometry.attributes.position.count;
    const places = draw(mesh, POSITION);
    const directions = normals && draw(mesh, NORMAL);
    for (let i = 0; i < count; i++) {
      if (places[4 * i + 3] === 0) continue; // of no triangle
      const distance = a.fromArray(places, 4 * i).distanceTo(b.fromArray(positions, 3 * (first + i)));
      if (!(distance <= off)) off = distance; // NaN counts as the largest
      if (directions) {
        const chord = a.fromArray(directions, 4 * i).normalize().distanceTo(b.fromArray(normals, 3 * (first + i)));
        squares += (2 * Math.asin(Math.min(chord / 2, 1))) ** 2;
      }
    }
    first += count;
  }
  return { off, squares };
}

globalThis.compare = async (dumpAddress, fileAddress) => {
  const dump = readDump(await (await fetch(dumpAddress)).arrayBuffer());
  const gltf = await new GLTFLoader().loadAsync(fileAddress);
  const meshes = vertexRanges(gltf);
  const vertices = meshes.reduce((sum, mesh) => sum + mesh.geometry.attributes.position.count, 0);
  if (vertices !== dump.vertices) return { problem: `three.js has ${vertices} vertices, pelt ${dump.vertices}` };
  const mixer = new AnimationMixer(gltf.scene);
  const all = { off: 0, squares: 0, frames: 0 };
  for (const [index, { name, frames }] of dump.clips.entries()) {
    const step = Math.ceil(frames.length / MOST_FRAMES);
    for (let f = 0; f < frames.length; f += step) {
      mixer.stopAllAction();
      if (index > 0) {
        const action = mixer.clipAction(gltf.animations.find((clip) => clip.name === name)).play();
        action.time = frames[f].time;
        mixer.update(0);
      }
      gltf.scene.updateMatrixWorld(true);
      const { off, squares } = look(meshes, frames[f]);
      if (!(off <= all.off)) all.off = off;
      all.squares += squares;
      all.frames++;
    }
  }
  return {
    vertices, frames: all.frames, off: all.off / dump.diagonal,
    joints: Math.max(...meshes.map((mesh) => mesh.skeleton?.bones.length ?? 0)),
    targets: Math.max(...meshes.map((mesh) => mesh.morphTargetInfluences?.length ?? 0)),
    degrees: (Math.sqrt(all.squares / (all.frames * vertices)) * 180) / Math.PI,
  };
};
globalThis.ready = true;
