// look_alike_page.mjs: draws two glTF files at the same moments, and compares the pixels.

import { AmbientLight, AnimationMixer, Box3, DirectionalLight, PerspectiveCamera, Scene, Vector3, WebGLRenderer } from "three";
import { GLTFLoader } from "three/addons/loaders/GLTFLoader.js";

const SIZE = 320;
const MOMENTS = [null, [0, 0.3], [0, 0.8], [-1, 0.5]]; // at rest; the first clip, twice; the last one

const renderer = new WebGLRenderer({ preserveDrawingBuffer: true });
renderer.setSize(SIZE, SIZE);
renderer.setClearColor(0x000000, 0);

function stage(object) {
  const scene = new Scene();
  const sun = new DirectionalLight(0xffffff, 3);
  sun.position.set(1, 2, 3);
  scene.add(object, sun, new AmbientLight(0xffffff, 0.5));
  return scene;
}

// Looks at a box from the front, slightly from above and the side.
function cameraFor(box) {
  const size = box.getSize(new Vector3()).length();
  const camera = new PerspectiveCamera(40, 1, size / 100, 10 * size);
  camera.position.copy(box.getCenter(new Vector3())).add(new Vector3(0.5, 0.4, 1.3).multiplyScalar(size));
  camera.lookAt(box.getCenter(new Vector3()));
  return camera;
}

function draw({ gltf, scene, mixer }, moment, camera) {
  mixer.stopAllAction();
  const clip = moment && gltf.animations.at(moment[0]);
  if (clip) {
    mixer.clipAction(clip).play().time = moment[1] * clip.duration;
    mixer.update(0);
  }
  renderer.render(scene, camera);
  const pixels = new Uint8Array(4 * SIZE * SIZE);
  const gl = renderer.getContext();
  gl.readPixels(0, 0, SIZE, SIZE, gl.RGBA, gl.UNSIGNED_BYTE, pixels);
  return pixels;
}

const worst = (a, b) => a.reduce((most, value, i) => Math.max(most, Math.abs(value - b[i])), 0);

async function open(address) {
  const gltf = await new GLTFLoader().loadAsync(address);
  gltf.scene.traverse((object) => (object.frustumCulled = false));
  return { gltf, scene: stage(gltf.scene), mixer: new AnimationMixer(gltf.scene) };
}

globalThis.compare = async (before, after) => {
  const [a, b] = [await open(before), await open(after)];
  const camera = cameraFor(new Box3().setFromObject(a.gltf.scene, true));
  const first = MOMENTS.map((moment) => draw(a, moment, camera));
  const second = MOMENTS.map((moment) => draw(b, moment, camera));
  const picture = renderer.domElement.toDataURL();
  const filled = first.map((pixels) => pixels.filter((value, i) => i % 4 === 3 && value > 0).length / (SIZE * SIZE));
  return {
    pictures: first.length, filled: Math.min(...filled), picture,
    off: Math.max(...first.map((pixels, i) => worst(pixels, second[i]))),
    moved: worst(second[1], second[2]),
  };
};
globalThis.ready = true;
