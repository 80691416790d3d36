// page_access.mjs: what axe-core says of the page, and whether fingers can hit what there is to press.

import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { check } from "./page_harness.mjs";

const AXE = readFileSync(fileURLToPath(import.meta.resolve("axe-core/axe.min.js")), "utf8");

// rules: names of axe's, else all.
export async function accessible(page, name, rules) {
  if (!(await page.evaluate(() => Boolean(globalThis.axe)))) await page.evaluate(AXE);
  const found = await page.evaluate(async (only) => {
    const { violations } = await globalThis.axe.run(document, { resultTypes: ["violations"], ...(only && { runOnly: only }) });
    return violations.flatMap(({ id, impact, nodes }) => nodes.map(({ target, any, all, none }) =>
      `${impact} ${id}: ${target.join(" ")}: ${(any[0] ?? all[0] ?? none[0])?.message ?? ""}`));
  }, rules);
  check(`axe finds nothing in: ${name}`, found.length === 0, found.join("\n     "));
}

const LEAST = 44; // pixels

// A label belongs to what it is a label of.
export async function largeEnough(page, name) {
  const small = await page.evaluate((least) => {
    const pressed = document.querySelectorAll("button, input, select, textarea, summary, a[href], [role=slider], [role=option], [role=tab], .skins tbody tr");
    return [...pressed].filter((element) => element.checkVisibility({ visibilityProperty: true }) && !element.disabled).flatMap((element) => {
      const boxes = [element, element.closest("label")].filter(Boolean).map((one) => one.getBoundingClientRect());
      const [wide, tall] = [Math.max(...boxes.map(({ width }) => width)), Math.max(...boxes.map(({ height }) => height))];
      return Math.min(wide, tall) > least - 0.5 ? [] : [`${element.tagName} ${element.getAttribute("aria-label") ?? element.textContent} (${Math.round(wide)} x ${Math.round(tall)})`];
    });
  }, LEAST);
  check(`fingers hit everything in: ${name}`, small.length === 0, small.join("; "));
  const across = await page.evaluate(() => document.scrollingElement.scrollWidth - innerWidth);
  check(`nothing sticks out in: ${name}`, across <= 0, across);
}
