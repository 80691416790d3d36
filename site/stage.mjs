// stage.mjs SOURCE STAGE: copies docs/ of the checkout SOURCE to STAGE as VitePress wants it. Links that leave docs/ lead to copies: pages
// of other folders become pages, other files text in source/; links that are named after a page's file get its title for a name.
// `<!-- live: NAME -->` becomes the live skin, where STAGE/public has one.

import { copyFileSync, cpSync, existsSync, mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { dirname, join, posix } from "node:path";

const [source, stage] = process.argv.slice(2);
// Pages from elsewhere, and what they are called here. docs/README.md is the start.
const pages = { "docs/README.md": "index.md", "README.md": "about.md", "CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md", "web/pelt-wasm/README.md": "pelt-wasm.md", "web/pelt-fit-wasm/README.md": "pelt-fit-wasm.md" };
for (const name of readdirSync(join(source, "docs")).filter((file) => file.endsWith(".md"))) pages[`docs/${name}`] ??= name;
const live = { arm: "Move the arm yourself: its true shape, its skin, and where they differ", body: "Move the body yourself: a human body in captured motion", face: "Play the face: its key points, and where the soft cache trusts them", box: "Drag the lamp: the light that walls throw on each other follows, from its key points" };

function link(from, target, shown) {
  const [path, anchor] = target.split("#");
  const file = posix.normalize(posix.join(posix.dirname(from), path));
  const hash = anchor === undefined ? "" : `#${anchor}`;
  if (pages[file]) return pages[file] + hash;
  if (file.startsWith("docs/pictures/") && shown) return file.slice(5);
  const full = join(source, file);
  if (!existsSync(full) || statSync(full).isDirectory()) throw new Error(`${from} links ${target}, which is no file`);
  const copy = /\.(png|webp)$/.test(file) ? `source/${file}` : `source/${file}.txt`;
  mkdirSync(dirname(join(stage, "public", copy)), { recursive: true });
  copyFileSync(full, join(stage, "public", copy));
  return `./${copy}`;
}

const titles = {};
for (const [file, name] of Object.entries(pages)) if (existsSync(join(source, file))) titles[name] = /^# (.+)$/m.exec(readFileSync(join(source, file), "utf8"))?.[1];

// What a reader of the site calls a page, where its link says only howto-view.md.
function titleOf(from, target) {
  const [path] = target.split("#");
  return path && titles[pages[posix.normalize(posix.join(posix.dirname(from), path))]];
}

function convert(from, text) {
  // Fences, code that is set in, and code in lines stay as they are.
  const parts = text.split(/(^```[^\n]*\n[\s\S]*?^```$|^(?: {4}[^\n]*\n)+|`[^`\n]+`)/m);
  return parts.map((part, i) => i % 2 ? part : part
    .replace(/\[[\w./-]+\.md\]\(([^)\s]+)\)/g, (all, target) => titleOf(from, target) ? `[${titleOf(from, target)}](${target})` : all)
    .replace(/(!\[[^\]]*)?\]\(((?!https?:|mailto:|#)[^)\s]+)\)/g, (_, image, target) => `${image ?? ""}](${link(from, target, image !== undefined)})`)
    .replace(/^<!-- live: (\w+) -->$/gm, (_, name) => existsSync(join(stage, "public/live", name)) ? `<LiveSkin name="${name}" what="${live[name]}" />` : "")
    .replace(/\{\{/g, "{​{")).join("");
}

mkdirSync(join(stage, "public"), { recursive: true });
for (const [file, name] of Object.entries(pages))
  if (existsSync(join(source, file))) writeFileSync(join(stage, name), convert(file, readFileSync(join(source, file), "utf8")));
cpSync(join(source, "docs/pictures"), join(stage, "pictures"), { recursive: true });
copyFileSync(join(source, "web/page/public/icon.svg"), join(stage, "public/icon.svg"));
