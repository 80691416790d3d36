// build.mjs: builds dist/: libpelt-fit as WebAssembly, and its wrapper as JavaScript with types.
//
//     node scripts/build.mjs [--no-types | --if-possible]      // --no-types: the module alone; --if-possible: fine without it
//
// CLANG is the compiler, clang otherwise. Ends with 2 where it cannot make WebAssembly, and says what to install.

import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { CLANG, compileAll, Failure, isUpToDate, needClang, run } from "../../scripts/clang.mjs";

const THIS = fileURLToPath(import.meta.url);
const HERE = dirname(dirname(THIS));
const ROOT = join(HERE, "..", "..");
const OUT = join(HERE, "dist");
const OBJECTS = join(HERE, "objects");
const SHIM = join(HERE, "shim");
const EIGEN = process.env.EIGEN || "/usr/include/eigen3";

const ROOMS = ["rig", "io", "model", "pack", "plain", "fit", "poses", "samples", "runtime"];

// Of the page's server, what makes resources; of light, what runs key points; of the program, what reads the words of a fit.
const PARTS = {
  view: ["characters", "diagnosis", "figures", "inside", "lamp", "open", "resource", "show"],
  light: ["cornell", "edges", "facts", "gather", "live", "picture", "refine", "relight", "surface", "tracer", "view"],
  cli: ["cache_options", "cmd_fit", "cmd_sample", "common", "files", "fit_choice", "fit_options", "json", "options"],
};

function folders() {
  const inside = readdirSync(join(ROOT, "fit"), { withFileTypes: true }).filter((entry) => entry.isDirectory()).map(({ name }) => join("fit", name));
  return [...ROOMS, ...inside].map((room) => join(ROOT, room));
}

// All of libpelt-fit: linear.c is LAPACK's, and loops of other processors and for comparison are never chosen.
function sources() {
  const all = folders().flatMap((folder) => readdirSync(folder).filter((name) => name.endsWith(".c")).map((name) => join(folder, name)));
  const own = ["shim/json.c", "shim/json_text.c", "shim/memory.c", "shim/no_boxes.c", "shim/rays.c", "fit_wasm.c", "view_wasm.c"].map((name) => join(HERE, name));
  const parts = Object.entries(PARTS).flatMap(([room, names]) => names.map((name) => join(ROOT, room, `${name}.c`)));
  return [...parts, ...all.filter((file) => !/rig\/linear\.c$|runtime\/(loops_avx.*|loops_scalar)\.c$/.test(file)), join(ROOT, "rig/linear_eigen.cpp"), ...own];
}

// Without bulk memory, which makes clang 14 touch thread-local data that is not there.
const EVERY = ["--target=wasm32-wasi", "-O3", "-msimd128", "-DNDEBUG", "-DPELT_ONLY_SIMD128", "-DPELT_WITH_LIGHT", "-D_WASI_EMULATED_PROCESS_CLOCKS",
  "-D_WASI_EMULATED_SIGNAL", "-ffunction-sections", "-fdata-sections", "-fvisibility=hidden", "-fno-math-errno",
  `-I${SHIM}`, `-I${HERE}`, `-I${ROOT}`, `-I${join(ROOT, "include")}`, "-include", join(SHIM, "posix.h")];
const C = ["-std=gnu17", "-Wall", "-Wextra", "-Werror", "-Wno-unknown-pragmas", "-Wno-missing-field-initializers"];
const CXX = ["-std=c++17", "-fno-exceptions", "-fno-rtti", "-isystem", EIGEN];
const LINK = ["--target=wasm32-wasi", "-mexec-model=reactor", "-Wl,--gc-sections", "-Wl,--strip-all", "-Wl,-z,stack-size=1048576",
  "-Wl,--stack-first", "-Wl,--max-memory=4294967296", "-Wl,--export-table", "-Wl,--export=__stack_pointer"];
const LIBRARIES = ["-lc++", "-lc++abi", "-lwasi-emulated-process-clocks", "-lwasi-emulated-signal", "-lm"];

async function buildModule() {
  const out = join(OUT, "pelt-fit.wasm");
  if (isUpToDate(out, [...folders(), ...["view", "light", "cli", "include/pelt"].map((room) => join(ROOT, room)), SHIM, ...["fit_wasm.h", "fit_wasm.c", "view_wasm.c"].map((name) => join(HERE, name)), THIS])) return;
  needClang("clang, lld, wasi-libc, libclang-rt-dev-wasm32, libc++-dev-wasm32 and libeigen3-dev", "c++",
    "#include <Eigen/Core>\n#include <vector>\nextern \"C\" __attribute__((export_name(\"f\"))) int f(int n) { return (int)std::vector<int>(n).size(); }\n",
    [...CXX, "-lc++", "-lc++abi"]);
  mkdirSync(OBJECTS, { recursive: true });
  const jobs = sources().map((source) => {
    const object = join(OBJECTS, `${relative(ROOT, source).replaceAll("/", "-")}.o`);
    return { source, object, words: [...EVERY, ...(source.endsWith(".cpp") ? CXX : C), "-MMD"] };
  });
  const linked = join(OBJECTS, "pelt-fit.wasm");
  if (!(await compileAll(jobs.filter(({ object }) => !isCurrent(object)))) || (await run(CLANG, [...LINK, ...jobs.map(({ object }) => object), ...LIBRARIES, "-o", linked])) !== 0)
    throw new Failure("the module was not made");
  copyFileSync(linked, out);
}

// Whether an object is newer than everything that went into it, as the compiler has listed it, and than this file.
function isCurrent(object) {
  const list = object.replace(/\.o$/, ".d");
  if (!existsSync(object) || !existsSync(list)) return false;
  const parts = readFileSync(list, "utf8").replace(/^[^:]*:/, "").split(/[\s\\]+/).filter(Boolean);
  return parts.every((part) => existsSync(part)) && isUpToDate(object, [...parts, THIS]);
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
  copyFileSync(join(ROOT, "LICENSE"), join(HERE, "LICENSE"));
  if (!process.argv.includes("--no-types")) buildWrapper();
  await buildModule();
  console.log(`pelt-fit-wasm: dist/pelt-fit.wasm has ${statSync(join(OUT, "pelt-fit.wasm")).size} bytes`);
} catch (error) {
  if (!(error instanceof Failure)) throw error;
  console.error(`pelt-fit-wasm: ${error.message}`);
  process.exitCode = error.status === 2 && process.argv.includes("--if-possible") ? 0 : error.status;
}
