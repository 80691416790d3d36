// gpu.mjs FORMS.bin: skins in WebGPU, WebGL 2 and three.js match the run time.

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { openBrowser } from "./browser.mjs";

const WEBGPU = ["--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader", "--enable-features=Vulkan"];
const page = await openBrowser("gpu_page.mjs", [process.argv[2]], WEBGPU);
after(() => page.close());

const call = async (name) => {
  const result = await page.call(name);
  assert.equal(result?.problem, undefined);
  return result;
};

test("WebGL 2 gives every kind of form's positions and normals", async () => assert.deepEqual(await call("webgl2"), []));
test("WebGL 2 leaves the context as it was", async () => assert.deepEqual(await call("state"), []));
test("WebGPU gives every form's positions and normals", async () => {
  assert.ok(await call("hasWebGPU"), "chromium has no WebGPU");
  assert.deepEqual(await call("webgpu"), []);
});
test("and leaves it also where nothing is as usual", async () => assert.deepEqual(await call("unusual"), []));
test("players delete what they make", async () => assert.deepEqual(await call("leaks"), []));
test("WebGPU takes two dimensions where one is too short", async () => assert.deepEqual(await call("wide"), []));
test("WebGPU skins a crowd at once", async () => assert.deepEqual(await call("crowd"), []));
test("a ShaderMaterial of three.js has the vertices", async () => assert.deepEqual(await call("three"), []));
test("three's own materials draw what pose.deform gives", async () => {
  const { lit, gap, atRest } = await call("materials");
  assert.ok(lit > 300, `${lit} values are lit`);
  assert.ok(gap < 0.01 * lit, `${gap} of ${lit} values differ`);
  assert.ok(atRest > 10 * gap + 0.1 * lit, `${atRest} of ${lit} differ at rest`);
});

test("what a device cannot do is refused by the limit's name and number", async () => {
  const said = await call("refusals");
  assert.match(said.MAX_TEXTURE_SIZE, /PeltError: the skin's texture needs \d+, but MAX_TEXTURE_SIZE of this context is 5$/);
  assert.match(said.MAX_VERTEX_TEXTURE_IMAGE_UNITS, /needs 2, but MAX_VERTEX_TEXTURE_IMAGE_UNITS of this context is 1$/);
  assert.match(said.maxStorageBufferBindingSize, /the skin needs \d+, but maxStorageBufferBindingSize of this device is 5000$/);
  assert.match(said.maxBufferSize, /the skin needs \d+, but maxBufferSize of this device is 5000$/);
  assert.match(said.maxStorageBuffersPerShaderStage, /needs 5, but maxStorageBuffersPerShaderStage of this device is 4$/);
  assert.match(said.foreign, /PeltError: this pose belongs to another skin/);
  assert.match(said.small, /RangeError: expected arrays of 9003 numbers/);
  assert.match(said.threeForeign, /PeltError: this pose belongs to another skin/);
  assert.match(said.threeRoom, /RangeError: character 1 was requested, but there is room for 1/);
  assert.match(said.threeNegative, /RangeError: character -1 was requested/);
  assert.match(said.gpuForeign, /PeltError: this pose belongs to another skin/);
  assert.match(said.gpuRoom, /RangeError: 2 characters were requested, but there is room for 1/);
  assert.match(said.noGpu, /this browser has no WebGPU/);
  assert.match(said.noAdapter, /WebGPU found no graphics device/);
  assert.deepEqual([said.keys, said.disposed], [true, 2]);
  assert.match(said.lostContext, /PeltError: the WebGL context was lost/);
  assert.match(said.lostDevice, /PeltError: the WebGPU device was lost/);
});

test("frame times", async () => (await call("times")).forEach((line) => console.log(`# ${line}`)));
