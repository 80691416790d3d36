// gpu.mjs FORMS.bin: skins in WebGPU and WebGL 2 give what the run time gives.

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { openBrowser } from "./browser.mjs";

const WEBGPU = ["--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader", "--enable-features=Vulkan"];
const page = await openBrowser("gpu_page.mjs", [process.argv[2]], WEBGPU);
after(() => page.close());

const call = async (name, ...values) => {
  const result = await page.call(name, ...values);
  assert.equal(result?.problem, undefined);
  return result;
};

test("WebGL 2 gives every form's positions and normals", async () => assert.deepEqual(await call("webgl2"), []));
test("WebGPU gives every form's positions and normals", async () => {
  assert.ok(await call("hasWebGPU"), "chromium has no WebGPU");
  assert.deepEqual(await call("webgpu"), []);
});
