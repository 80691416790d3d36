// page_harness.mjs: `pelt view` in a browser, for tests that drive its page as a person does. Environment: PICTURES, where set, is a
// folder for screenshots; CHROMIUM is the browser; PAGE_SCRIPT and PAGE_WASM, where set, are files that take the place of the page's
// own, and the first failure is then the last (scripts/mutants).

import { spawn } from "node:child_process";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { chromium } from "playwright-core";

export const pelt = process.argv[2];
export const pictures = process.env.PICTURES;
export const { PAGE_SCRIPT: otherScript, PAGE_WASM: otherWasm } = process.env;
export let failed = 0;

export function check(name, good, detail = "") {
  if (!good) failed++;
  if (!good || process.env.VERBOSE) console.log(`${good ? "ok  " : "FAIL"} ${name}${detail === "" ? "" : `: ${detail}`}`);
  if (!good && otherScript) process.exit(1);
}

// -- Starting and ending ------------------------------------------------------------------------------------------------

export function serve(words, input = "ignore") {
  const server = spawn(pelt, ["view", ...words, "--no-browser", "--json"], { stdio: [input, "pipe", input === "ignore" ? "inherit" : "ignore"] });
  let said = "";
  process.once("exit", () => server.kill());
  return new Promise((done, fail) => {
    server.once("exit", (code) => fail(new Error(`pelt view ended with ${code}: ${said}`)));
    server.stdout.on("data", (bytes) => {
      said += bytes;
      const url = /"url": "([^"]+)"/.exec(said);
      if (url) done({ url: url[1], server });
    });
  });
}

export const launch = (...more) => chromium.launch({
  executablePath: process.env.CHROMIUM || "/usr/bin/chromium",
  args: ["--no-sandbox", "--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader", "--enable-features=Vulkan", "--use-angle=swiftshader",
    "--ignore-gpu-blocklist", "--enable-unsafe-swiftshader", "--disable-gpu-compositing", "--disable-gpu-rasterization", ...more], // the page itself is drawn without it
});

export async function openPage(browser, url, size, more = {}) {
  const context = await browser.newContext({ viewport: size, colorScheme: "dark", deviceScaleFactor: pictures ? 1 : 0.5, ...more }); // few pixels: they are drawn by the processor
  if (otherScript) {
    await context.route("**/assets/index-*.js", (route) => route.fulfill({ path: otherScript, contentType: "text/javascript" }));
    await context.route("**/*.wasm", (route) => route.fulfill({ path: otherWasm, contentType: "application/wasm" }));
  }
  await context.addInitScript(() => localStorage.setItem("pelt-ground", "off")); // pixels are those of the character
  if (otherScript) context.setDefaultTimeout(15000); // what never comes need not be waited for long
  const page = await context.newPage();
  const complaints = [];
  const origin = new URL(url).origin;
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && !/GPU stall|GL Driver/.test(message.text()) && complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("request", (request) => new URL(request.url()).origin !== origin && !request.url().startsWith("blob:") && complaints.push(`asked ${request.url()}`));
  return { page, complaints };
}

// What the tests ask the page: nothing here changes what it shows.
export function helpers() {
  const app = globalThis.peltApp;
  const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)));
  app.stage.smoothAfter = Infinity; // pictures that are compared have as many pixels
  app.stage.redraw();
  globalThis.look = {
    // Waits until what was requested is drawn.
    async settled() {
      for (let i = 0; i < 400; i++) {
        await frame();
        if (!app.busy && !app.deforming) break;
      }
      await frame();
    },
    // [r, g, b, a] of one pixel of the canvas as it is drawn, in CSS pixels of the stage.
    pixels(left, top, width, height) {
      const { renderer } = app.stage;
      const usual = renderer.getPixelRatio();
      const ratio = width === 1 ? 1 : usual; // one pixel is looked at closely
      if (ratio !== usual) renderer.setPixelRatio(ratio);
      app.stage.draw();
      const gl = renderer.getContext();
      const [wide, tall] = [Math.max(1, Math.floor(width * ratio)), Math.max(1, Math.floor(height * ratio))];
      const out = new Uint8Array(4 * wide * tall);
      gl.readPixels(Math.floor(left * ratio), Math.floor(gl.drawingBufferHeight - top * ratio) - tall, wide, tall, gl.RGBA, gl.UNSIGNED_BYTE, out);
      if (ratio !== usual) renderer.setPixelRatio(usual);
      return Array.from(out);
    },
    // Pictures stay here, because a million numbers are slow to send: a picture is identified by its number.
    kept: [],
    picture(...box) {
      this.kept.push(Uint8Array.from(this.pixels(...box)));
      return this.kept.length - 1;
    },
    // How many pixels differ, left of a column where one is given.
    different(a, b, width = 1, columns = 1) {
      const ratio = width > 1 ? app.stage.renderer.getPixelRatio() : 1;
      [width, columns] = [Math.floor(width * ratio), Math.max(1, Math.floor(columns * ratio))];
      const [one, other] = [this.kept[a], this.kept[b]];
      let count = 0;
      for (let i = 0; i < one.length; i += 4) {
        if ((i >> 2) % width >= columns) continue;
        if (Math.abs(one[i] - other[i]) + Math.abs(one[i + 1] - other[i + 1]) + Math.abs(one[i + 2] - other[i + 2]) > 12) count++;
      }
      return count;
    },
    covered(a) {
      let count = 0;
      for (let i = 3; i < this.kept[a].length; i += 4) if (this.kept[a][i] > 0) count++;
      return count;
    },
    inks(a) {
      const list = this.kept[a];
      let blue = 0, orange = 0;
      for (let i = 0; i < list.length; i += 4) {
        if (list[i + 3] < 200) continue;
        if (list[i + 2] > list[i] + 40) blue++;
        if (list[i] > list[i + 2] + 40) orange++;
      }
      return { blue, orange };
    },
    // Floats as text, which is fast to send.
    floats(array) {
      const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
      let text = "";
      for (let i = 0; i < bytes.length; i += 8192) text += String.fromCharCode(...bytes.subarray(i, i + 8192));
      return btoa(text);
    },
    // Where a point of the scene is drawn in a pane.
    place(pane, point) {
      const box = app.stage.pane(pane).getBoundingClientRect();
      const stage = app.stage.element.getBoundingClientRect();
      const at = app.stage.camera.position.clone().set(...point).project(app.stage.camera);
      return [Math.round(box.left - stage.left) + ((at.x + 1) / 2) * Math.floor(box.width), Math.round(box.top - stage.top) + ((1 - at.y) / 2) * Math.floor(box.height)];
    },
    pane(name) {
      const box = app.stage.pane(name).getBoundingClientRect();
      const stage = app.stage.element.getBoundingClientRect();
      return [Math.round(box.left - stage.left), Math.round(box.top - stage.top), Math.floor(box.width), Math.floor(box.height)];
    },
    // The vertex closest to the camera among those that face it and whose error differs from the surface around it:
    // where a pixel can be read off.
    frontVertex(wanted) {
      const { positions, normals, camera } = app.stage;
      const errors = app.stage.errors;
      let best = -1, score = -Infinity;
      const toEye = camera.position.clone();
      for (let v = 0; v < errors.length; v++) {
        toEye.set(positions[3 * v], positions[3 * v + 1], positions[3 * v + 2]).sub(camera.position).negate();
        const distance = toEye.length();
        const facing = (toEye.x * normals[3 * v] + toEye.y * normals[3 * v + 1] + toEye.z * normals[3 * v + 2]) / distance;
        const value = facing - distance * 3 - (wanted === undefined ? 0 : 1e3 * Math.abs(errors[v] - wanted));
        if (facing > 0.8 && value > score) [best, score] = [v, value];
      }
      return { vertex: best, position: Array.from(positions.slice(3 * best, 3 * best + 3)), normal: Array.from(normals.slice(3 * best, 3 * best + 3)), error: errors[best] };
    },
  };
}

// -- Small tools --------------------------------------------------------------------------------------------------------

export const settled = (page) => page.evaluate(() => globalThis.look.settled());
export const set = async (page, change) => {
  await page.evaluate((values) => globalThis.peltApp.store.set(values), change);
  await settled(page);
};
export const get = (page) => page.evaluate(() => ({ ...globalThis.peltApp.store.get() }));
export const pixels = (page, box) => page.evaluate((at) => globalThis.look.pixels(...at), box);
export const paneBox = (page, name) => page.evaluate((pane) => globalThis.look.pane(pane), name);
export const press = async (page, key) => {
  await page.keyboard.press(key);
  await settled(page);
};
export const off = (a, b) => a.reduce((most, value, i) => Math.max(most, Math.abs(value - b[i])), 0);
export const picture = (page, box) => page.evaluate((at) => globalThis.look.picture(...at), box);
export const different = (page, ...values) => page.evaluate((list) => globalThis.look.different(...list), values);
export const covered = (page, a) => page.evaluate((kept) => globalThis.look.covered(kept), a);
export const inks = (page, a) => page.evaluate((kept) => globalThis.look.inks(kept), a);
// The model's positions or the truth, as drawn.
export const drawn = async (page, which) => {
  const bytes = Buffer.from(await page.evaluate((name) => globalThis.look.floats(globalThis.peltApp.stage[name]), which), "base64");
  return new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
};

export function npy(file) {
  const bytes = readFileSync(file);
  const length = bytes.readUInt16LE(8);
  const shape = /'shape': \(([^)]*)\)/.exec(bytes.toString("latin1", 10, 10 + length))[1].split(",").map(Number).filter(Boolean);
  const at = 10 + length;
  return { shape, floats: new Float32Array(bytes.buffer.slice(bytes.byteOffset + at, bytes.byteOffset + bytes.length)) };
}

export async function shoot(page, name) {
  if (!pictures) return;
  mkdirSync(pictures, { recursive: true });
  await page.evaluate(() => document.activeElement?.blur());
  await page.mouse.move(3, 3);
  await settled(page);
  await page.waitForTimeout(300);
  await page.evaluate(() => globalThis.peltApp.stage.drawFiner(2));
  await page.screenshot({ path: join(pictures, `view-${name}.png`) });
  await page.evaluate(() => globalThis.peltApp.stage.drawFiner(1));
}

export async function openSubject(page, index) {
  await page.evaluate((subject) => globalThis.peltApp.store.set({ subject }), index);
  await page.waitForFunction((subject) => globalThis.peltApp.store.get().subject === subject && globalThis.peltApp.skin() && globalThis.peltApp.stage.mesh, index);
  await settled(page);
}
