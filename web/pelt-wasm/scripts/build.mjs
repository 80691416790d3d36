// build.mjs: makes dist/: the run time as WebAssembly, the shaders as text, the wrapper as JavaScript with types.
//
//     node scripts/build.mjs [--no-types]      // --no-types: dist/ has what the last build left of the wrapper
//
// CLANG is the compiler, clang otherwise; it is asked whether it can make WebAssembly before anything is done.

import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const HERE = dirname(dirname(fileURLToPath(import.meta.url)));
const ROOT = join(HERE, "..", "..");
const OUT = join(HERE, "dist");

// What the module is made of: soft_cache.c calls back, loops_avx*.c are empty here.
function sources() {
  const runtime = readdirSync(join(ROOT, "runtime")).filter((name) => name.endsWith(".c") && !/soft_cache|avx/.test(name));
  return [join(HERE, "pelt_wasm.c"), join(ROOT, "gpu/pack.c"), ...runtime.map((name) => join(ROOT, "runtime", name))];
}

const COMPILE = ["--target=wasm32-wasi", "-std=gnu17", "-O3", "-msimd128", "-mexec-model=reactor", "-DNDEBUG",
  "-Wall", "-Wextra", "-Werror", "-Wno-unknown-pragmas", "-Wno-missing-field-initializers",
  "-ffunction-sections", "-fdata-sections", "-fvisibility=hidden", `-I${ROOT}`, `-I${join(ROOT, "include")}`];
const LINK = ["-Wl,--gc-sections", "-Wl,--strip-all", "-Wl,-z,stack-size=262144", "-Wl,--stack-first"];

// A sentence on what is missing, or null.
function missing(clang) {
  const found = spawnSync(clang, ["--version"], { encoding: "utf8" });
  if (found.error || found.status !== 0) return `there is no ${clang} here`;
  const program = "#include <stdlib.h>\n__attribute__((export_name(\"f\"))) void *f(int n) { return malloc(n); }\n";
  const tried = spawnSync(clang, ["--target=wasm32-wasi", "-mexec-model=reactor", "-x", "c", "-", "-o", "/dev/null"],
    { input: program, encoding: "utf8" });
  if (tried.status === 0) return null;
  return `${clang} cannot make WebAssembly here (${tried.stderr.trim().split("\n")[0]})`;
}

function buildModule() {
  const clang = process.env.CLANG || "clang";
  const problem = missing(clang);
  if (problem) {
    console.error(`pelt-wasm: ${problem}: install clang, lld, wasi-libc and libclang-rt-14-dev-wasm32` +
      " (those are Debian's names, and 14 is clang's version), or set CLANG");
    process.exit(2);
  }
  const out = join(OUT, "pelt.wasm");
  const result = spawnSync(clang, [...COMPILE, ...LINK, ...sources(), "-o", out], { stdio: "inherit" });
  if (result.status !== 0) process.exit(1);
  const module = new WebAssembly.Module(readFileSync(out));
  const imports = WebAssembly.Module.imports(module).map((each) => `${each.module}.${each.name}`);
  if (imports.length) {
    console.error(`pelt-wasm: the module must import nothing, but wants ${imports.join(", ")}`);
    process.exit(1);
  }
  return statSync(out).size;
}

// Shaders as a module of texts, so that no bundler has to know of them.
function buildShaders() {
  const files = { skinGlsl: join(ROOT, "gpu/skin.glsl"), skinWgsl: join(HERE, "src/skin.wgsl") };
  const lines = Object.entries(files).filter(([, path]) => existsSync(path))
    .map(([name, path]) => `export const ${name} = ${JSON.stringify(readFileSync(path, "utf8"))};\n`);
  writeFileSync(join(OUT, "shaders.js"), lines.join(""));
  writeFileSync(join(OUT, "shaders.d.ts"),
    "export declare const skinGlsl: string;\nexport declare const skinWgsl: string;\n");
}

function buildWrapper() {
  const compiler = createRequire(import.meta.url).resolve("typescript/bin/tsc");
  const result = spawnSync(process.execPath, [compiler, "-p", HERE], { stdio: "inherit" });
  if (result.status !== 0) process.exit(1);
}

mkdirSync(OUT, { recursive: true });
const size = buildModule();
buildShaders();
copyFileSync(join(ROOT, "LICENSE"), join(HERE, "LICENSE"));
if (!process.argv.includes("--no-types")) buildWrapper();
console.log(`pelt-wasm: dist/pelt.wasm has ${size} bytes`);
