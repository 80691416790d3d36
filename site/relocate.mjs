// relocate.mjs DIST: makes a built site work in any folder of any host. VitePress wants to know where it will be; here it was told
// /__pelt__/, and every page, all of which are in one folder, finds out for itself instead.

import { readFileSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const BASE = "/__pelt__/", HERE = "globalThis.__peltBase";
const found = `<script>${HERE} = new URL(".", location.href).pathname</script>`;
let left = 0;
for (const name of readdirSync(process.argv[2], { recursive: true })) {
  const file = join(process.argv[2], name);
  if (!/\.(html|js|css)$/.test(name) || /^(live|try|source)\b/.test(name) || statSync(file).isDirectory()) continue;
  let text = readFileSync(file, "utf8");
  if (name.endsWith(".html")) {
    text = text.replace(/(JSON\.parse\("(?:[^"\\]|\\.)*"\))/g, (data) => data.includes(BASE) ? `((data) => (data.base = ${HERE}, data))(${data.replaceAll(BASE, "./")})` : data);
    text = text.replaceAll(BASE, "./").replace("<head>", `<head>${found}`);
  } else if (name.endsWith(".css")) {
    text = text.replaceAll(`${BASE}assets/`, "./").replaceAll(BASE, "../");
  } else if (name.includes("localSearchIndex")) { // one long string, of JSON
    text = text.replaceAll(BASE, "@here@").replace(/;export\{(\w+) as default\};?\s*$/, `.replaceAll("@here@",${HERE});export{$1 as default};`);
    if (!text.includes(HERE)) left++, console.error(`relocate: ${name} is not what it was expected to be`);
  } else {
    // Addresses inside of markup are relative to the page; whole strings are computed.
    text = text.replace(/((?:href|src)=\\?["'])\/__pelt__\//g, "$1./");
    text = text.replace(/(["'`])\/__pelt__\/\1/g, ` ${HERE}`).replace(/(["'])\/__pelt__\//g, ` ${HERE}+$1`).replace(/`\/__pelt__\//g, "`${" + HERE + "}");
  }
  const at = text.indexOf(BASE);
  if (at >= 0) left++, console.error(`relocate: ${name}: ${text.slice(at - 60, at + 60)}`);
  writeFileSync(file, text);
}
process.exit(left ? 1 : 0);
