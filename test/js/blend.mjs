// blend.mjs DUMP.bin FILE.glb...: does three.js put the vertices where pelt puts them?
//
// DUMP.bin is made by test/dump_blend.c or test/dump_skin.c. three.js loads each file, plays each clip at the same
// times, and every vertex of every mesh, in the order of the scene, is compared. Exit 1 when one is off by more than
// 1e-5 of the diagonal of the rest pose. Morph targets are off, since pelt reads none as motion, unless MORPHS is set;
// then normals are compared too, if the dump has any, and may be off by 0.1 degrees: where there are more
// targets than players take, they are approximated, and how well depends on how a processor rounds.

import { readFileSync } from "node:fs";
import { AnimationMixer, MathUtils, Matrix3, Matrix4, Vector3, Vector4 } from "three";
import { GLTFLoader } from "three/addons/loaders/GLTFLoader.js";
import { readDump, vertexRanges } from "./dump.mjs";

const TOLERANCE = 1e-5;
const NORMAL_TOLERANCE = 0.1; // degrees

// Textures need a browser and move no vertex.
globalThis.self = globalThis;
globalThis.ProgressEvent = Event;
globalThis.URL.createObjectURL = () => "blob:none";
globalThis.createImageBitmap = async () => ({ width: 1, height: 1, close() {} });
const { fetch } = globalThis;
globalThis.fetch = async (request) => (request.url.startsWith("data:") ? fetch(request) : new Response(new Blob()));
console.warn = () => {};

function bytesOf(path) {
  const file = readFileSync(path);
  return file.buffer.slice(file.byteOffset, file.byteOffset + file.byteLength);
}

const load = (path) => new GLTFLoader().parseAsync(bytesOf(path), "");

// The largest distance between the current scene and the positions of a frame.
function worstDistance(meshes, positions) {
  const point = new Vector3();
  let vertex = 0;
  let worst = 0;
  for (const mesh of meshes) {
    for (let i = 0; i < mesh.geometry.attributes.position.count; i++, vertex++) {
      mesh.getVertexPosition(i, point).applyMatrix4(mesh.matrixWorld);
      const x = point.x - positions[3 * vertex];
      const y = point.y - positions[3 * vertex + 1];
      const z = point.z - positions[3 * vertex + 2];
      const distance = Math.sqrt(x * x + y * y + z * z);
      if (!(distance <= worst)) worst = distance; // NaN counts as the largest
    }
  }
  return worst;
}

// The normal of vertex i as three.js's vertex shader computes it: morphed, skinned as a direction, rotated with the
// mesh, and normalised.
function worldNormal(mesh, i, out) {
  const { normal, skinIndex, skinWeight } = mesh.geometry.attributes;
  const morphs = mesh.geometry.morphAttributes.normal ?? [];
  out.fromBufferAttribute(normal, i);
  const delta = new Vector3();
  morphs.forEach((morph, k) => out.addScaledVector(delta.fromBufferAttribute(morph, i), mesh.morphTargetInfluences[k]));
  if (mesh.isSkinnedMesh) {
    const joints = new Vector4().fromBufferAttribute(skinIndex, i);
    const weights = new Vector4().fromBufferAttribute(skinWeight, i);
    const bound = out.applyMatrix3(new Matrix3().setFromMatrix4(mesh.bindMatrix)).clone();
    out.set(0, 0, 0);
    for (const [k, weight] of weights.toArray().entries()) {
      const joint = joints.getComponent(k);
      const matrix = new Matrix4().multiplyMatrices(mesh.skeleton.bones[joint].matrixWorld, mesh.skeleton.boneInverses[joint]);
      out.addScaledVector(bound.clone().applyMatrix3(new Matrix3().setFromMatrix4(matrix)), weight);
    }
    out.applyMatrix3(new Matrix3().setFromMatrix4(mesh.bindMatrixInverse));
  }
  return out.applyNormalMatrix(new Matrix3().getNormalMatrix(mesh.matrixWorld)).normalize();
}

// The largest angle in degrees between the normals of the current scene and those of a frame.
function worstAngle(meshes, normals) {
  const ours = new Vector3();
  const theirs = new Vector3();
  let vertex = 0;
  let worst = 0;
  for (const mesh of meshes) {
    for (let i = 0; i < mesh.geometry.attributes.position.count; i++, vertex++) {
      const chord = worldNormal(mesh, i, theirs).distanceTo(ours.fromArray(normals, 3 * vertex));
      const angle = MathUtils.radToDeg(2 * Math.asin(Math.min(chord / 2, 1)));
      if (!(angle <= worst)) worst = angle;
    }
  }
  return worst;
}

function play(gltf, clip, time) {
  const mixer = new AnimationMixer(gltf.scene);
  const action = mixer.clipAction(clip).play();
  action.time = time;
  mixer.update(0);
  return () => mixer.stopAllAction(); // resets the scene to rest
}

// Compares one file with the dump; true when they agree.
async function compare(path, dump) {
  const gltf = await load(path);
  const meshes = vertexRanges(gltf);
  const count = meshes.reduce((sum, mesh) => sum + mesh.geometry.attributes.position.count, 0);
  if (count !== dump.vertices) {
    console.log(`${path}: three.js has ${count} vertices, pelt ${dump.vertices}`);
    return false;
  }
  let worst = 0;
  let worstNormal = 0;
  let frames = 0;
  for (const [index, { name, frames: list }] of dump.clips.entries()) {
    // Clips that move no joint are not in the dump, so clips are found by name; those without a name of their own come
    // in the order of the file.
    const clip = gltf.animations.find((a) => a.name === name) ?? gltf.animations[index - 1];
    for (const { time, positions, normals } of list) {
      const stop = index > 0 ? play(gltf, clip, time) : () => {};
      if (!process.env.MORPHS) for (const mesh of meshes) mesh.morphTargetInfluences?.fill(0);
      gltf.scene.updateMatrixWorld(true);
      const fraction = worstDistance(meshes, positions) / dump.diagonal;
      if (process.env.MORPHS && normals) worstNormal = Math.max(worstNormal, worstAngle(meshes, normals));
      stop();
      frames++;
      if (!(fraction <= worst)) worst = fraction;
      if (!(fraction <= TOLERANCE)) console.log(`${path}: clip '${name}' at ${time} s is off by ${fraction.toExponential(2)}`);
    }
  }
  console.log(`${path}: ${count} vertices, ${frames} frames, off by at most ${worst.toExponential(2)} of the diagonal`);
  if (process.env.MORPHS && dump.hasNormals) console.log(`  normals are off by at most ${worstNormal.toExponential(2)} degrees`);
  return worst <= TOLERANCE && worstNormal <= NORMAL_TOLERANCE;
}

const [dumpPath, ...paths] = process.argv.slice(2);
const dump = readDump(bytesOf(dumpPath));
let agreed = true;
for (const path of paths) agreed = (await compare(path, dump)) && agreed;
process.exit(agreed ? 0 : 1);
