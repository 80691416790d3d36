// page_live.mjs: `pelt view --live` in a browser: the skin on the page follows lines on standard input.
//
//     node page_live.mjs PELT FOLDER

import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { check, failed, helpers, launch, openPage, pelt, serve, settled } from "./page_harness.mjs";

const folder = process.argv[3];
const run = (...words) => execFileSync(pelt, [...words, "--quiet"], { cwd: folder });

run("sample", "arm", "-o", ".", "--vertices", "300", "--frames", "24");
run("fit", "arm.glb", "--train", "train", "--method", "eigen", "--holdout", "0", "-o", "arm.pelt");
run("eval", "arm.pelt", "arm.glb", "--clip", "test", "-o", "test.poses");
run("eval", "arm.pelt", "arm.glb", "--clip", "test", "-o", "test.npy");

const [names, ...lines] = readFileSync(join(folder, "test.poses"), "utf8").trimEnd().split("\n");
const npy = readFileSync(join(folder, "test.npy")), begin = 10 + npy.readUInt16LE(8);
const positions = new Float32Array(npy.buffer.slice(npy.byteOffset + begin)), size = positions.length / lines.length;
const expected = (frame) => positions.subarray(frame * size, (frame + 1) * size);

// The largest distance of a number on the page from what `pelt eval` makes of a frame.
const off = (page, frame) => page.evaluate((wanted) => {
  const { positions: shown } = globalThis.peltApp.stage;
  return wanted.reduce((most, x, i) => Math.max(most, Math.abs(x - shown[i])), 0);
}, [...expected(frame)]);

// Whether the page comes to show a frame.
async function follows(page, frame) {
  for (let i = 0; i < 100; i++) {
    await settled(page);
    if (await off(page, frame) < 1e-5) return true;
    await page.waitForTimeout(20);
  }
  return false;
}

const { url, server } = await serve([join(folder, "arm.glb"), join(folder, "arm.pelt"), "--live", "-"], "pipe");
const browser = await launch();
try {
  const { page, complaints } = await openPage(browser, url, { width: 900, height: 600 });
  const button = page.locator("button.live");
  await page.goto(url);
  await page.waitForFunction(() => globalThis.peltApp?.skin());
  await page.evaluate(helpers);
  await page.waitForFunction(() => document.querySelector("button.live").textContent.includes("waiting for the first pose"));
  check("who waits for poses says so", await button.isVisible() && await button.getAttribute("aria-pressed") === "true");

  server.stdin.write(`${names}\n${lines[3]}\n`);
  check("the page shows the pose of a line", await follows(page, 3), await off(page, 3));
  check("poses are different", await off(page, 7) > 1e-2, await off(page, 7));
  server.stdin.write(`1 2 3\n${lines[7]}\n`);
  check("a bad line is skipped", await follows(page, 7), await off(page, 7));
  check("there is no truth, and the title says why", await page.evaluate(() => globalThis.peltApp.stage.truth === null && [...document.querySelectorAll(".stage *")].some((one) => one.textContent.includes("· live"))));
  check("the button says that it is live", await button.textContent() === "Live");

  server.stdin.write(`${Array.from({ length: 2000 }, (_, i) => lines[i % lines.length]).join("\n")}\n${lines[5]}\n`);
  check("of many the last is shown", await follows(page, 5), await off(page, 5));

  await button.click();
  check("the clip comes back", await button.getAttribute("aria-pressed") === "false" && await (async () => { await settled(page); return page.evaluate(() => globalThis.peltApp.followed === null && globalThis.peltApp.stage.truth !== null); })());
  server.stdin.write(`${lines[2]}\n`);
  await page.waitForTimeout(100);
  check("who looks at the clip is left alone", await off(page, 2) > 1e-3);
  await button.click();
  check("and can follow again", await follows(page, 2), await off(page, 2));
  await page.evaluate(() => globalThis.peltApp.store.set({ frame: 1 }));
  check("another frame ends following", await button.getAttribute("aria-pressed") === "false");
  await button.click();

  server.stdin.end();
  await page.waitForFunction(() => document.querySelector("button.live").textContent.includes("has ended"));
  check("the last pose stays when the stream has ended", await follows(page, 2), await off(page, 2));

  const bare = (key, more = {}) => fetch(new URL("data/live.bin", url), { headers: { ...(key && { "X-Pelt-Key": key }), ...more } });
  const { hash } = new URL(url);
  check("poses need the key", (await bare("")).status === 403 && (await bare("0".repeat(32))).status === 403 && (await bare(hash.slice(1))).status === 200);
  check("and are for this page alone", (await bare(hash.slice(1), { Origin: "http://example.com" })).status === 403);
  check("the browser had nothing to complain of", complaints.length === 0, complaints.join("; "));
} finally {
  await browser.close();
  server.removeAllListeners("exit");
  server.kill("SIGINT");
}
process.exit(failed ? 1 : 0);
