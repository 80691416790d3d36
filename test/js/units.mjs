// units.mjs: shared by tests of single modules of the page, in node. WEB is the folder web/, another one than this tree's for
// scripts/mutants.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";

const web = process.env.WEB ?? join(dirname(fileURLToPath(import.meta.url)), "../../web");
const { buildSync } = createRequire(join(web, "package.json"))("esbuild");
const folder = mkdtempSync(join(tmpdir(), "pelt-units-"));
after(() => rmSync(folder, { recursive: true, force: true }));

export async function load(name) {
  const outfile = join(folder, `${name.replace("/", "_")}.mjs`);
  buildSync({ entryPoints: [join(web, "page/src", `${name}.ts`)], bundle: true, format: "esm", loader: { ".inc": "text", ".css": "empty" },
    alias: { "pelt-wasm": join(web, "pelt-wasm/src/index.ts"), "pelt-fit-wasm": join(web, "pelt-fit-wasm/src/index.ts") }, external: ["node:*"], outfile, logLevel: "error" });
  return import(pathToFileURL(outfile).href);
}

export const near = (a, b, most = 1e-6) => {
  assert.equal(a.length, b.length);
  [...a].forEach((x, i) => assert.ok(Math.abs(x - b[i]) <= most, `${[...a]} is not ${[...b]}`));
};

let seed = 1;
export const random = () => (seed = (16807 * seed) % 2147483647) / 2147483647 - 0.5;

// Rodrigues' formula.
export function turned(axis, angle, v) {
  const length = Math.hypot(...axis) || 1, [x, y, z] = axis.map((a) => a / length), [c, s] = [Math.cos(angle), Math.sin(angle)];
  const along = (x * v[0] + y * v[1] + z * v[2]) * (1 - c);
  return [v[0] * c + (y * v[2] - z * v[1]) * s + x * along, v[1] * c + (z * v[0] - x * v[2]) * s + y * along,
    v[2] * c + (x * v[1] - y * v[0]) * s + z * along];
}
