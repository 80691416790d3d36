// gpu_page.mjs: skins of every form by WebGPU, WebGL 2 and three.js in a browser, against the processor's. See gpu.mjs.

import { createWebGL2, createWebGPU, loadPelt } from "pelt-wasm";
import { difference, readForms } from "./forms.mjs";

const pelt = await loadPelt();
const forms = readForms(await (await fetch("/file/0")).arrayBuffer());
const LIMIT = 2e-6;

const context = new OffscreenCanvas(4, 4).getContext("webgl2");
const adapter = await navigator.gpu?.requestAdapter();
const device = await adapter?.requestDevice();
const complaints = [];
device?.addEventListener("uncapturederror", (event) => complaints.push(event.error.message));

function posed(skin, { locals, controls }) {
  const pose = skin.createPose();
  pose.locals.set(locals);
  pose.controls.set(controls);
  pose.update();
  return pose;
}

// Every form, all of its poses in one player, with and without normals: sentences on what differs.
async function compare(make) {
  const wrong = [];
  for (const form of forms) {
    const skin = pelt.open(form.file), player = await make(skin);
    for (const truth of form.poses) {
      const pose = posed(skin, truth);
      for (const normals of [true, false]) wrong.push(difference(form, truth, await player.deform(pose, { normals }), LIMIT));
      pose.free();
    }
    player.free();
    skin.free();
  }
  return wrong.filter(Boolean).concat(complaints.splice(0));
}

globalThis.forms = () => forms.length;
globalThis.hasWebGPU = () => Boolean(device);
globalThis.webgpu = () => compare((skin) => createWebGPU(skin, device));
globalThis.webgl2 = () => compare((skin) => createWebGL2(skin, context));
globalThis.ready = true;
