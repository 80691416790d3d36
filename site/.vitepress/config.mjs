// The docs as a site. scripts/site stages docs/ (site/stage.mjs) and names the folder in PELT_STAGE.

import { existsSync } from "node:fs";
import { defineConfig } from "vitepress";

// As GitHub makes anchors, so that a link is right in both places.
const slug = (title) => title.toLowerCase().replace(/<[^>]*>/g, "").replace(/[^\p{L}\p{N}\s_-]/gu, "").trim().replace(/\s/g, "-");
const page = (text, name) => ({ text, link: `/${name}` });

const fits = existsSync(`${process.env.PELT_STAGE}/public/try`) ? [{ text: "Fit yours here", link: "/try/index.html", target: "_blank" }] : [];

export default defineConfig({
  title: "pelt",
  description: "Skins for real-time characters, made from examples",
  lang: "en",
  base: "/__pelt__/", // site/relocate.mjs makes it any folder of any host
  srcDir: process.env.PELT_STAGE,
  outDir: `${process.env.PELT_STAGE}/../dist`,
  cacheDir: `${process.env.PELT_STAGE}/../cache`,
  head: [["link", { rel: "icon", href: "/__pelt__/icon.svg" }]],
  markdown: { anchor: { slugify: slug }, toc: { slugify: slug } },
  vite: { build: { chunkSizeWarningLimit: 4000 } },
  themeConfig: {
    search: { provider: "local" },
    outline: [2, 3],
    nav: [page("Start", ""), page("First skin", "tutorial-first"), page("Glossary", "glossary"), ...fits],
    sidebar: [
      { text: "Start", items: [page("Where to begin", ""), page("What pelt is", "about"), page("Glossary", "glossary")] },
      { text: "Tutorials", items: [page("Your first character", "tutorial-first"), page("Artists: Blender", "tutorial-blender"), page("Engine programmers", "tutorial-engine"), page("Researchers: the papers", "tutorial-research"), page("Film: faces and light", "tutorial-film")] },
      {
        text: "How to", collapsed: true, items: [
          page("Examples", "howto-examples"), page("Which poses", "howto-poses"), page("Simulated flesh", "howto-flesh"), page("Controls", "howto-controls"),
          page("Look at skins", "howto-view"), page("Play without pelt", "howto-export"), page("Keep your file", "howto-round-trip"), page("Blender", "howto-blender"),
          page("Houdini and Maya", "howto-houdini-maya"), page("C library", "howto-library"), page("Graphics hardware", "howto-gpu"), page("Web pages", "howto-web"),
          page("Python", "howto-python"), page("Key points", "howto-keys"), page("Relighting", "howto-relight"), page("Retargeting", "howto-retarget"),
          page("Live input", "howto-live"), page("Farms", "howto-farm"),
        ],
      },
      { text: "Explanation", items: [page("Methods", "methods"), page("How accurate", "accuracy"), page("How fast", "speed"), page("How it is built", "design"), page("What you can rely on", "reliability")] },
      { text: "Reference", items: [page("Commands and options", "reference"), page("Skin files", "format"), page("Key point files", "keys-format"), page("pelt-wasm", "pelt-wasm"), page("pelt-fit-wasm", "pelt-fit-wasm"), page("Changes", "changelog"), page("Contributing", "contributing")] },
    ],
  },
});
