// clang.mjs: WebAssembly by clang, for the builds of pelt-wasm and pelt-fit-wasm. CLANG is the compiler, clang otherwise.

import { spawn, spawnSync } from "node:child_process";
import { existsSync, readdirSync, statSync } from "node:fs";
import { cpus } from "node:os";
import { join } from "node:path";

export class Failure extends Error {
  constructor(sentence, status = 1) {
    super(sentence);
    this.status = status;
  }
}

export const CLANG = process.env.CLANG || "clang";

// Throws, with what to install, where clang cannot make WebAssembly of this program. Packages have Debian's names.
export function needClang(packages, language = "c", program = "#include <stdlib.h>\n__attribute__((export_name(\"f\"))) void *f(int n) { return malloc(n); }\n", words = []) {
  const found = spawnSync(CLANG, ["--version"], { encoding: "utf8" });
  const tried = found.error || found.status !== 0 ? null : spawnSync(CLANG,
    ["--target=wasm32-wasi", "-mexec-model=reactor", ...words, "-x", language, "-", "-o", "/dev/null"], { input: program, encoding: "utf8" });
  if (tried?.status === 0) return;
  const why = tried ? `${CLANG} cannot make WebAssembly here (${tried.stderr.trim().split("\n")[0]})` : `there is no ${CLANG} here`;
  throw new Failure(`${why}: install ${packages} (those are Debian's names), or set CLANG`, 2);
}

export function run(program, words) {
  return new Promise((done) => spawn(program, words, { stdio: "inherit" }).on("close", done).on("error", () => done(1)));
}

// Compiles on all processors: jobs of {words, source, object}. False if one failed.
export async function compileAll(jobs) {
  const waiting = [...jobs];
  let failed = false;
  const worker = async () => {
    for (let job; (job = waiting.pop()) !== undefined; )
      failed = (await run(CLANG, [...job.words, "-c", job.source, "-o", job.object])) !== 0 || failed;
  };
  await Promise.all(cpus().map(worker));
  return !failed;
}

// True if everything a file is built from is older than it.
export function isUpToDate(out, parts) {
  const files = parts.flatMap((part) =>
    statSync(part).isDirectory() ? readdirSync(part).map((name) => join(part, name)) : [part]);
  return existsSync(out) && files.every((file) => statSync(file).mtimeMs < statSync(out).mtimeMs);
}
