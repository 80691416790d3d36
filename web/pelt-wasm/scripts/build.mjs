// build.mjs: builds dist/: the run time as WebAssembly, its struct layout and the shaders as TypeScript, the wrapper as
// JavaScript with types.
//
//     node scripts/build.mjs [--no-types]      // --no-types: the module and the shaders alone
//
// CLANG is the compiler, clang otherwise. Ends with 2 where it cannot make WebAssembly, and says what to install.

import { spawn, spawnSync } from "node:child_process";
import {
  copyFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { cpus, tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const THIS = fileURLToPath(import.meta.url);
const HERE = dirname(dirname(THIS));
const ROOT = join(HERE, "..", "..");
const OUT = join(HERE, "dist");

// What the module is made of: soft_cache.c calls back, loops_avx*.c are for other machines, and loops_scalar.c would never be
// chosen.
function sources() {
  const runtime = readdirSync(join(ROOT, "runtime")).filter((name) => name.endsWith(".c") && !/soft_cache|avx|scalar/.test(name));
  const others = ["gpu/pack.c", "rig/error.c"].map((name) => join(ROOT, name));
  return [join(HERE, "pelt_wasm.c"), ...others, ...runtime.map((name) => join(ROOT, "runtime", name))];
}

// What runs at every frame is made fast, and the rest small. Loops say themselves what is to be unrolled: more of it is no
// faster, only larger.
const EVERY_FRAME = /(loops_simd128|deform|driven|features|keys|pose)\.c$/;

const COMPILE = ["--target=wasm32-wasi", "-std=gnu17", "-msimd128", "-DNDEBUG", "-DPELT_ONLY_SIMD128", "-Wall", "-Wextra", "-Werror",
  "-Wno-unknown-pragmas", "-Wno-missing-field-initializers", "-ffunction-sections", "-fdata-sections",
  "-fvisibility=hidden", `-I${ROOT}`, `-I${join(ROOT, "include")}`];
const LINK = ["--target=wasm32-wasi", "-mexec-model=reactor", "-Wl,--gc-sections", "-Wl,--strip-all",
  "-Wl,-z,stack-size=262144", "-Wl,--stack-first"];

// A message about what is missing, or null.
function missing(clang) {
  const found = spawnSync(clang, ["--version"], { encoding: "utf8" });
  if (found.error || found.status !== 0) return `there is no ${clang} here`;
  const program = "#include <stdlib.h>\n__attribute__((export_name(\"f\"))) void *f(int n) { return malloc(n); }\n";
  const tried = spawnSync(clang, ["--target=wasm32-wasi", "-mexec-model=reactor", "-x", "c", "-", "-o", "/dev/null"],
    { input: program, encoding: "utf8" });
  if (tried.status === 0) return null;
  return `${clang} cannot make WebAssembly here (${tried.stderr.trim().split("\n")[0]})`;
}

function run(program, words) {
  return new Promise((done) => spawn(program, words, { stdio: "inherit" }).on("close", done).on("error", () => done(1)));
}

async function compileAll(clang, folder) {
  const waiting = sources();
  const objects = waiting.map((source) => join(folder, `${basename(source)}.o`));
  let failed = false;
  const worker = async () => {
    for (let source; (source = waiting.pop()) !== undefined; ) {
      const how = EVERY_FRAME.test(source) ? ["-O2", "-fno-unroll-loops"] : ["-Oz"];
      const object = join(folder, `${basename(source)}.o`);
      failed = (await run(clang, [...COMPILE, ...how, "-c", source, "-o", object])) !== 0 || failed;
    }
  };
  await Promise.all(cpus().map(worker));
  return failed ? null : objects;
}

// True if everything a file is built from is older than it.
function isUpToDate(out, parts) {
  const files = parts.flatMap((part) =>
    statSync(part).isDirectory() ? readdirSync(part).map((name) => join(part, name)) : [part]);
  return existsSync(out) && files.every((file) => statSync(file).mtimeMs < statSync(out).mtimeMs);
}

class Failure extends Error {
  constructor(sentence, status = 1) {
    super(sentence);
    this.status = status;
  }
}

async function buildModule() {
  const out = join(OUT, "pelt.wasm");
  const parts = ["runtime", "include/pelt", "gpu/pack.c", "gpu/pack.h", "rig/error.c", "rig/error.h"].map((name) => join(ROOT, name));
  if (isUpToDate(out, [...parts, join(HERE, "pelt_wasm.c"), THIS])) return;
  const clang = process.env.CLANG || "clang";
  const problem = missing(clang);
  if (problem)
    throw new Failure(`${problem}: install clang, lld, wasi-libc and libclang-rt-dev-wasm32 (those are Debian's` +
      " names), or set CLANG", 2);
  const folder = mkdtempSync(join(tmpdir(), "pelt-wasm-"));
  try {
    const objects = await compileAll(clang, folder);
    const linked = join(folder, "pelt.wasm");
    if (!objects || (await run(clang, [...LINK, ...objects, "-o", linked])) !== 0) throw new Failure("the module was not made");
    const imports = WebAssembly.Module.imports(new WebAssembly.Module(readFileSync(linked)));
    if (imports.length)
      throw new Failure(`the module must import nothing, but wants ${imports.map((each) => each.name).join(", ")}`);
    copyFileSync(linked, out);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

// The layout of C structs as the module reports it: names of words and their offsets, and the values of enums.
function buildLayout() {
  const out = join(HERE, "src/layout.ts"), module = join(OUT, "pelt.wasm");
  if (isUpToDate(out, [module, THIS])) return;
  const { memory, layout } = new WebAssembly.Instance(new WebAssembly.Module(readFileSync(module))).exports;
  const bytes = Buffer.from(memory.buffer), objects = {};
  const text = (at) => bytes.toString("utf8", at, bytes.indexOf(0, at));
  for (let at = layout(); bytes.readUInt32LE(at); at += 12) {
    const [object, name] = [0, 4].map((word) => text(bytes.readUInt32LE(at + word)));
    const spelled = object === "NUMBERS" ? name : name.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase());
    (objects[object] ??= {})[spelled] = bytes.readUInt32LE(at + 8);
  }
  const lines = Object.entries(objects).map(([name, value]) => `export const ${name} = ${JSON.stringify(value)} as const;\n`);
  writeFileSync(out, `// Generated by scripts/build.mjs from pelt_wasm.c.\n${lines.join("")}`);
}

// Without comments and indentation, which nobody reads there.
const bare = (text) => text.split("\n").map((line) => line.replace(/\/\/.*$/, "").trim()).filter(Boolean).join("\n") + "\n";

// Shaders as a module of strings, so that bundlers need no configuration.
function buildShaders() {
  const files = { skinGlsl: join(ROOT, "gpu/skin.glsl"), skinWgsl: join(HERE, "src/skin.wgsl") };
  const lines = Object.entries(files).map(
    ([name, path]) => `export const ${name}: string = ${JSON.stringify(bare(readFileSync(path, "utf8")))};\n`);
  const out = join(HERE, "src/shaders.ts");
  if (!isUpToDate(out, [...Object.values(files), THIS])) writeFileSync(out, lines.join(""));
}

function buildWrapper() {
  const parts = ["src", "tsconfig.json", "package.json"].map((name) => join(HERE, name));
  if (isUpToDate(join(OUT, "index.js"), parts)) return;
  const compiler = createRequire(import.meta.url).resolve("typescript/bin/tsc");
  const result = spawnSync(process.execPath, [compiler, "-p", HERE], { stdio: "inherit" });
  if (result.status !== 0) throw new Failure("the wrapper was not made");
}

try {
  mkdirSync(OUT, { recursive: true });
  await buildModule();
  buildLayout();
  buildShaders();
  copyFileSync(join(ROOT, "LICENSE"), join(HERE, "LICENSE"));
  if (!process.argv.includes("--no-types")) buildWrapper();
  console.log(`pelt-wasm: dist/pelt.wasm has ${statSync(join(OUT, "pelt.wasm")).size} bytes`);
} catch (error) {
  if (!(error instanceof Failure)) throw error;
  console.error(`pelt-wasm: ${error.message}`);
  process.exitCode = error.status;
}
