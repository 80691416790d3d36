// page_view.mjs: the bars, tables and curves around the picture, and its camera, in numbers: each against a formula of its own.
//
// viewDetails(context) drives a page that shows an arm with three skins. context: page (playwright), check(name, good, detail),
// set(choices), which waits for the picture, and get().

const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);
const close = (a, b, most = 1e-6) => a.length === b.length && a.every((x, i) => Math.abs(x - b[i]) <= most);
const short = (x) => (x === 0 ? "0" : x >= 1e5 || x < 1e-4 ? x.toExponential(1).replace("e-", "e−").replace("e+", "e") : String(Number(x.toPrecision(3))));
// 1, 2 or 5 times a power of ten, not below.
const round = (x) => { for (let ten = 1e-12; ; ten *= 10) for (const step of [1, 2, 5]) if (step * ten >= x * 0.9999) return step * ten; };

const texts = (page, selector) => page.locator(selector).allTextContents();
const attributes = (page, selector, ...names) => page.locator(selector).evaluateAll((list, asked) => list.map((one) => asked.map((name) => one.getAttribute(name))), names);

export async function viewDetails(context) {
  await set0(context);
  for (const part of [topBar, icons, tools, legend, table, curves, keys, camera, divider, messages, tabs, numbers]) {
    await part(context);
    await set0(context);
  }
}

const set0 = async ({ page, set }) => {
  await page.evaluate(() => document.activeElement?.blur());
  await set({ layout: "side", skin: 1, shading: "clay", difference: false, wireframe: false, scale: null, speed: 1, panel: "numbers", playing: false });
};

async function topBar({ page, check }) {
  const { joints, clips, names, about } = await page.evaluate(() => {
    const app = globalThis.peltApp, { joints, clips } = app.character();
    return { joints: joints.length, clips: clips.length, names: app.subjects().map(({ name }) => name), about: document.querySelector(".subject-detail").textContent };
  });
  check("what is open is said in numbers", about === `2,972 vertices, ${joints} joints, ${clips} clips, 3 skins` && await page.title() === "arm · pelt" && same(await texts(page, ".subject-name"), ["arm"]), about);
  const button = page.locator("button.subject"), list = page.locator(".subject-holder .menu");
  const focused = () => page.evaluate(() => [document.activeElement.dataset.index ?? document.activeElement.className, document.querySelector("button.subject").getAttribute("aria-expanded")].join());
  await button.click();
  const states = [await focused()];
  check("the list names all that is there", same(await texts(page, ".menu b"), names) && same((await attributes(page, ".menu li", "aria-selected")).flat(), ["false", "true", "false"])
    && (await texts(page, ".menu li span"))[2] === "4 vertices, 1 joint, 1 clip, 1 skin", (await texts(page, ".menu li span")).join("; "));
  for (const key of ["ArrowDown", "ArrowDown", "ArrowUp", "ArrowUp", "ArrowUp", "Escape"]) {
    await page.keyboard.press(key);
    states.push(await focused());
  }
  check("arrows go through the list, and Escape leaves it", same(states, ["1,true", "2,true", "2,true", "1,true", "0,true", "0,true", "subject,false"]), states.join(" "));
  await button.click();
  await page.mouse.click(300, 300);
  check("a press elsewhere closes the list", await list.isHidden());
  await button.click();
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press(" ");
  check("a space chooses", await list.isHidden() && (await texts(page, ".subject-name"))[0] === "arm");
  check("one path is chosen, and can be focused", same(await attributes(page, ".paths .segment", "aria-checked", "tabindex"), [["true", "0"], ["false", "-1"], ["false", "-1"]]) && await page.locator(".paths").isVisible());
}

// Every icon fills a good part of its square, in a shape that is its own.
async function icons({ page, check, set }) {
  const drawn = {}, look = async () => Object.assign(drawn, await page.evaluate(() => Object.fromEntries([...document.querySelectorAll("svg.icon")].filter((one) => one.checkVisibility()).map((one) => {
    const path = one.querySelector("path"), { x, y, width, height } = path.getBBox(), button = one.closest("button"), filled = (...at) => path.isPointInFill(new DOMPoint(...at));
    let inside = 0;
    for (let i = 0; i < 256; i++) inside += Number(filled((i % 16) + 0.5, Math.floor(i / 16) + 0.5));
    return [button.ariaLabel === "Dark or light" ? `theme ${document.documentElement.dataset.theme}` : button.getAttribute("aria-label") ?? button.className,
      { shape: path.getAttribute("d"), box: [x, y, x + width, y + height], share: inside / 256, middle: filled(8, 8), edge: filled(12.5, 3.5), view: one.getAttribute("viewBox"), hidden: one.getAttribute("aria-hidden"), class: one.getAttribute("class") }];
  }))));
  await page.evaluate(() => globalThis.peltApp.say("one"));
  await look();
  await set({ playing: true });
  await look();
  await set({ playing: false });
  await page.keyboard.press("t");
  await look();
  await page.keyboard.press("t");
  await page.locator(".message .plain").first().click();
  const all = Object.entries(drawn);
  check("fourteen icons are drawn, and no two alike", all.length === 14 && new Set(all.map(([, { shape }]) => shape)).size === 14, Object.keys(drawn).join());
  for (const [name, { box, share, view, hidden, class: kind }] of all) {
    check("an icon fills its square, and is not read out", box.every((x) => x >= 0 && x <= 16) && box[2] - box[0] > 5 && box[3] - box[1] > 5 && share > 0.06 && share < 0.8 && view === "0 0 16 16" && hidden === "true" && kind === "icon", `${name} ${box} ${share} ${view} ${hidden}`);
  }
  const { Play, Pause, "theme dark": sun, "theme light": moon } = drawn;
  check("play is an arrow, pause are bars; the sun is round, the moon is not", Play?.middle && !Pause?.middle && sun?.middle && sun.box.every((x, i) => Math.abs(x - (i < 2 ? 0.8 : 15.2)) < 0.1) && moon?.middle && !moon.edge, JSON.stringify([Play, Pause, sun, moon]));
}

async function tools({ page, check, set, get }) {
  const state = () => page.evaluate(() => ({
    chosen: [...document.querySelectorAll(".toolbar .segment[aria-checked=true]")].map((one) => one.dataset.value).join(),
    off: [...document.querySelectorAll(".toolbar .segment")].filter((one) => one.disabled).map((one) => one.dataset.value).join(),
    mixing: !document.querySelector(".mixing").hidden, heat: !document.querySelectorAll(".toolbar .toggle")[1].hidden,
    ticked: [...document.querySelectorAll(".toolbar input[type=checkbox]")].map((one) => one.checked).join(), blend: document.querySelector(".blend").value,
  }));
  const side = await state();
  check("the toolbar says what is shown side by side", same(side, { chosen: "side,clay", off: "", mixing: false, heat: false, ticked: "false,false", blend: "0.5" }), JSON.stringify(side));
  await page.locator(".toolbar .segment[data-value=side]").focus();
  await page.keyboard.press("ArrowRight");
  await page.locator(".blend").fill("0.25");
  await page.locator(".toolbar .toggle").nth(0).click();
  await page.locator(".toolbar .toggle").nth(1).click();
  const over = await state(), now = await get();
  check("and what is overlaid", same(over, { chosen: "overlay,clay", off: "", mixing: true, heat: true, ticked: "true,true", blend: "0.25" }) && now.layout === "overlay" && now.blend === 0.25 && now.wireframe && now.difference, JSON.stringify(over));
  await page.locator(".toolbar .toggle").nth(1).click();
  await page.locator(".toolbar .segment[data-value=clay]").focus();
  await page.evaluate(() => { document.querySelector(".toolbar .segment[data-value=textures]").disabled = true; });
  await page.keyboard.press("ArrowDown");
  check("arrows pass what cannot be chosen", (await get()).shading === "normals" && !(await get()).difference);
  await page.keyboard.press("ArrowLeft");
  await page.keyboard.press("ArrowUp");
  check("and stay at the end", (await get()).shading === "clay");
  await set({ blend: 0.5 });
}

async function legend({ page, check, set, get }) {
  const bar = await page.evaluate(() => {
    const pen = new OffscreenCanvas(256, 1).getContext("2d"); // reading back slows down the page's canvas
    pen.drawImage(document.querySelector(".legend-bar"), 0, 0);
    const { data } = pen.getImageData(0, 0, document.querySelector(".legend-bar").width === 256 ? 256 : 1, 1);
    return [0, 60, 120, 239, 240, 255].map((x) => [...data.slice(4 * x, 4 * x + 3)]);
  });
  const wanted = [[77, 83, 93], null, [241, 102, 131], [255, 234, 122], [255, 255, 255], [255, 255, 255]];
  check("the legend has the colours of the reports", bar.every((pixel, i) => !wanted[i] || close(pixel, wanted[i], 4)) && bar[1][0] > 130 && bar[1][0] < 190, JSON.stringify(bar));
  const ticks = async () => [...await texts(page, ".legend-ticks span"), await page.locator(".legend-top").inputValue(), await page.locator(".legend .tiny").getAttribute("aria-pressed")];
  const scale = await page.evaluate(() => globalThis.peltApp.scale());
  check("its middle is half its top", same(await ticks(), ["0", short(scale / 2), short(scale), "true"]), (await ticks()).join());
  await page.locator(".legend-top").focus();
  await page.keyboard.press("ArrowUp");
  check("an arrow raises the top by a tenth", close([(await get()).scale / scale], [1.1], 0.006));
  const { frame } = await get(), lower = [];
  for (let i = 0; i < 3; i++) {
    await page.keyboard.press("ArrowDown");
    lower.push((await get()).scale / scale);
  }
  check("and another lowers it", close(lower, [1, 1 / 1.1, 1 / 1.21], 0.01), lower.join());
  await page.keyboard.press("ArrowLeft");
  check("others stay in the field", (await get()).frame === frame && close([(await get()).scale / scale], lower.slice(2)));
  for (const bad of ["0", "-1", "much", "Infinity"]) {
    await page.locator(".legend-top").fill(bad);
    await page.locator(".legend-top").press("Enter");
    const sentence = page.locator(".message p", { hasText: "The top of the scale must be a length above 0." });
    check("what is no length is refused", await sentence.count() === 1 && close([(await get()).scale / scale], lower.slice(2)) && await page.locator(".legend-top").inputValue() === short((await get()).scale), bad);
    await page.locator(".message .plain").first().click();
  }
  await page.locator(".legend .tiny").click();
  check("the scale goes back to that of the skins", (await get()).scale === null && same(await ticks(), ["0", short(scale / 2), short(scale), "true"]), (await ticks()).join());
  await page.locator(".legend-top").fill("0,04");
  await page.keyboard.press("Enter");
  check("a comma is a point", same(await ticks(), ["0", "0.02", "0.04", "false"]), (await ticks()).join());
  const seen = [];
  for (const change of [{ layout: "model" }, { difference: true }, { layout: "wipe" }, { difference: false }, { layout: "side" }]) {
    await set(change);
    seen.push(await page.locator(".legend").isVisible());
  }
  check("it is there when distances are shown", same(seen, [false, true, true, false, true]), seen.join());
  // Beyond the scale everything is white, but for the shade.
  await set({ layout: "model", difference: true, scale: 1e-9 });
  const white = await page.evaluate(() => {
    const { look } = globalThis, pixels = look.pixels(...look.pane("model"));
    let [all, grey] = [0, 0];
    for (let i = 0; i < pixels.length; i += 4) if (pixels[i + 3] === 255) { all++; grey += Number(Math.abs(pixels[i] - pixels[i + 2]) < 3 && pixels[i] > 190); }
    return grey / all;
  });
  check("what is beyond the scale is white", white > 0.9, white);
}

async function table({ page, check, get }) {
  const asked = await page.evaluate(async () => {
    const app = globalThis.peltApp;
    return Promise.all(app.character().skins.map(async (skin) => ({ ...skin.facts.train, ...await app.data.json(skin.figures), bytes: skin.bytes })));
  });
  const columns = ["rel_err", "rms", "roughness", "bytes", "nanoseconds"];
  const rows = () => page.locator(".skins tbody tr").evaluateAll((list) => list.map((row) => ({
    skin: Number(row.dataset.skin), best: [...row.children].slice(1).map((cell) => cell.classList.contains("best")), ink: row.querySelector("i").className, on: row.getAttribute("aria-selected"), tab: row.tabIndex,
    cells: [...row.children].slice(1).map((cell) => cell.textContent) })));
  const first = await rows();
  check("the best of each column is bold", first.every(({ best }, i) => best.every((bold, c) => bold === (asked[i][columns[c]] === Math.min(...asked.map((skin) => skin[columns[c]]))))), JSON.stringify(first.map(({ best }) => best)));
  check("rows have the colours of their curves, and one is chosen", same(first.map(({ ink, on, tab }) => [ink, on, tab]), [["swatch ink0", "false", -1], ["swatch ink1", "true", 0], ["swatch ink2", "false", -1]]), JSON.stringify(first));
  check("errors relative to the blend have no zero before the point", first.every(({ cells }, i) => cells[0] === asked[i].rel_err.toFixed(3).replace(/^0/, "") && cells[2] === asked[i].roughness.toFixed(2)), first.map(({ cells }) => cells[0]).join());
  check("what the errors were measured on is said", (await texts(page, ".table-note"))[0] === "On the examples that each skin was trained on, which flatters it.", (await texts(page, ".table-note"))[0]);
  const sorted = async (label) => {
    await page.locator(".skins thead button", { hasText: label }).click();
    return [(await rows()).map(({ skin }) => skin).join(), (await attributes(page, ".skins thead th.number", "aria-sort")).flat().join()];
  };
  const up = [0, 1, 2].sort((a, b) => asked[a].rms - asked[b].rms);
  check("a column sorts upwards, then downwards", same([await sorted("rms"), await sorted("rms"), await sorted("rms")], [[up.join(), "none,ascending,none,none,none"], [[...up].reverse().join(), "none,descending,none,none,none"], [up.join(), "none,ascending,none,none,none"]]));
  check("the name sorts as given", same(await sorted("skin"), ["0,1,2", "none,none,none,none,none"]));
  await page.locator(".skins tbody tr").nth(1).click();
  await page.locator(".skins tbody tr").nth(1).focus();
  const went = [];
  for (const key of ["ArrowDown", "ArrowDown", "ArrowUp", "ArrowUp", "ArrowUp"]) {
    await page.keyboard.press(key);
    went.push((await get()).skin);
  }
  check("arrows stay in the table", same(went, [2, 2, 1, 0, 0]) && await page.evaluate(() => document.activeElement.dataset.skin) === "0", went.join());
}

async function curves({ page, check, set, get }) {
  await page.waitForFunction(() => document.querySelectorAll(".curve").length === 3);
  const { errors, clips } = await page.evaluate(async () => {
    const app = globalThis.peltApp, { clip } = app.store.get();
    return { errors: await Promise.all(app.character().skins.map((skin) => app.data.json(skin.errors.replace("%d", clip)))), clips: app.clips().map(({ name, frames, truth }) => ({ name, frames, truth })) };
  });
  const frames = errors[0].rms.length, middle = (list, share) => {
    const sorted = [...list].sort((a, b) => a - b), at = share * (sorted.length - 1), low = Math.floor(at);
    return sorted[low] + (at - low) * ((sorted[low + 1] ?? sorted[low]) - sorted[low]);
  };
  for (const kind of ["rms", "max"]) {
    await page.locator(".timeline .segment", { hasText: kind }).click();
    const own = kind === "rms" ? 1 : 0; // the best fits the others, and the worst is seen whole
    await set({ frame: 5, skin: own });
    const drawn = await page.evaluate(() => {
      const chart = document.querySelector(".chart"), number = (one, ...names) => names.map((name) => Number(one.getAttribute(name)));
      return {
        size: [document.querySelector(".track").clientWidth, document.querySelector(".track").clientHeight], box: chart.getAttribute("viewBox"), curves: [...chart.querySelectorAll(".curve")].map((one) => [one.dataset.skin, one.getAttribute("class"), one.getAttribute("d")]),
        y: [...chart.querySelectorAll(".tick.y")].map((one) => [one.textContent, ...number(one, "x", "y")]), x: [...chart.querySelectorAll(".tick.x")].map((one) => [one.textContent, ...number(one, "x", "y")]),
        grid: [...chart.querySelectorAll(".grid")].map((one) => number(one, "x1", "x2", "y1", "y2")), head: number(chart.querySelector(".head"), "x1", "x2", "y1", "y2"), dot: number(chart.querySelector(".head-dot"), "cx", "cy"),
        worst: [chart.querySelector(".worst").dataset.frame, chart.querySelector(".worst title").textContent, chart.querySelector(".worst").getAttribute("d")], now: number(chart, "aria-valuenow", "aria-valuemax"),
        place: document.querySelector(".place").textContent, figures: document.querySelector(".frame-figures").textContent, last: chart.querySelector(".curve:nth-last-of-type(2)")?.dataset.skin,
      };
    });
    const [width, height] = drawn.size, x = (i) => 46 + (i / (frames - 1)) * (width - 56), highs = errors.map((one) => middle(one[kind], 0.98));
    const top = round(Math.max(Math.max(...errors[own][kind]), Math.min(Math.max(...highs), 3 * middle(highs, 0.5)))), y = (value) => 8 + (height - 24) * (1 - Math.min(1.03, value / top));
    const exact = drawn.curves.every(([skin, , d]) => close(d.match(/-?[\d.]+/g).map(Number), errors[skin][kind].flatMap((value, i) => [x(i), y(value)]), 0.06) && d.startsWith("M") && d.match(/[ML]/g).length === frames);
    check("curves are the errors of the skins", exact && drawn.box === `0 0 ${width} ${height}`, JSON.stringify(drawn.curves.map(([, , d]) => d.slice(0, 40))));
    check("the chosen one is drawn last", same(drawn.curves.map(([skin, name]) => [skin, name]), [1 - own, 2, own].map((i) => [`${i}`, `curve ink${i}${i === own ? " chosen" : ""}`])), JSON.stringify(drawn.curves.map(([, name]) => name)));
    check("the axis says the top and its half", drawn.y.every(([text, at, down], i) => text === short((top * i) / 2) && at < 46 && Math.abs(down - y((top * i) / 2)) < 6) && drawn.y.length === 3, JSON.stringify([drawn.y, top]));
    check("with lines across", drawn.grid.length === 3 && drawn.grid.every(([from, to, a, b], i) => from === 46 && to === width - 10 && a === b && Math.abs(a - y((top * i) / 2)) < 1e-6), JSON.stringify(drawn.grid));
    const step = round(Math.max(1, frames / Math.max(2, width / 90))), told = [];
    for (let n = 0; n < frames; n += step) told.push(Math.round(n));
    check("frames are numbered along it", same(drawn.x.map(([text]) => Number(text)), told) && drawn.x.every(([text, at, down]) => Math.abs(at - x(Number(text))) < 1e-6 && down > height - 16 && down <= height), JSON.stringify(drawn.x));
    const worst = errors[own][kind].indexOf(Math.max(...errors[own][kind])), mark = drawn.worst[2].match(/-?[\d.]+/g).map(Number);
    check("the worst frame is marked", drawn.worst[0] === String(worst) && drawn.worst[1] === `Worst frame: ${worst}` && close(mark.slice(0, 2), [x(worst), y(errors[own][kind][worst]) - 2], 1e-6), drawn.worst.join());
    check("the head is at the frame", close(drawn.head, [x(5), x(5), 2, height - 13], 1e-6) && close(drawn.dot, [x(5), height - 13], 1e-6) && same(drawn.now, [5, frames - 1]) && drawn.place === `5 / ${frames - 1}`, JSON.stringify([drawn.head, drawn.dot, drawn.now, drawn.place]));
    check("the figures are the frame's", drawn.figures === `rms ${short(errors[own].rms[5])} · max ${short(errors[own].max[5])}`, drawn.figures);
  }
  const chart = await page.locator(".chart").boundingBox(), at = (i) => chart.x + 46 + (i / (frames - 1)) * (chart.width - 56);
  await page.mouse.move(at(3) + 1, chart.y + 20);
  const tip = await page.evaluate(() => ({ text: document.querySelector(".tip").innerText.split(/\n/), left: document.querySelector(".tip").style.left, inks: [...document.querySelectorAll(".tip i")].map((one) => one.className).join() }));
  check("the pointer is told the errors there", same(tip.text.map((line) => line.trim()).filter(Boolean), ["frame 3", ...["ssd", "eigen", "psd"].flatMap((name, i) => [name, short(errors[i].max[3])])]) && tip.inks === "swatch ink0,swatch ink1,swatch ink2", JSON.stringify(tip));
  check("beside the pointer", Math.abs(parseFloat(tip.left) - (at(3) - chart.x + 10)) < 1, tip.left);
  check("without moving the head", (await get()).frame === 5);
  await page.mouse.move(at(frames - 1), chart.y + 20);
  check("the tip stays inside", await page.evaluate(() => document.querySelector(".tip").getBoundingClientRect().right <= document.querySelector(".track").getBoundingClientRect().right - 3));
  await page.mouse.down();
  const seeks = [];
  for (const px of [at(2), chart.x + 2, chart.x + chart.width - 2]) {
    await page.mouse.move(px, chart.y + 30);
    seeks.push((await get()).frame);
  }
  await page.mouse.up();
  await page.mouse.move(5, 5);
  check("a drag goes along, and ends at the ends", same(seeks, [2, 0, frames - 1]), seeks.join());
  check("the tip goes with the pointer", await page.locator(".tip").isHidden());
  check("clips are listed with their frames", same(await texts(page, "select.clip option"), clips.map(({ name, frames: count, truth }) => `${name} (${count}${truth ? "" : ", no truth"})`)), (await texts(page, "select.clip option")).join());
  const { clip } = await get(), other = (clip + 1) % clips.length;
  await page.locator("select.clip").selectOption(String(other));
  check("and chosen from the list", (await get()).clip === other && (await get()).frame === 0);
  await set({ clip });
  check("which follows the clip", await page.locator("select.clip").inputValue() === String(clip));
  await page.waitForFunction(() => document.querySelectorAll(".curve").length === 3);
  await page.locator(".go-worst").click();
  check("a button goes to the worst frame, by what is drawn", (await get()).frame === errors[0].max.indexOf(Math.max(...errors[0].max)));
  await page.locator("select.speed").selectOption("0.5");
  check("the speed is chosen", (await get()).speed === 0.5 && await page.locator("select.speed").inputValue() === "0.5");
  // Frames that come next are read before they are needed.
  await set({ clip: other, frame: 0, speed: 0.25 });
  const read = [], hear = (request) => read.push(request.url());
  page.on("request", hear);
  const label = () => page.locator(".play").getAttribute("aria-label");
  await page.locator(".play").click();
  const playing = [await label(), (await get()).playing];
  await page.waitForFunction(() => globalThis.peltApp.store.get().frame > 1);
  await page.locator(".play").click();
  page.off("request", hear);
  check("a button plays and stops", same([...playing, await label(), (await get()).playing], ["Pause", true, "Play", false]), playing.join());
  check("reading ahead while it plays", read.length - (await get()).frame >= 4, read.join());
  await page.locator(".timeline .segment", { hasText: "rms" }).click();
  await set({ clip, speed: 1 });
}

async function keys({ page, check, set, get }) {
  const press = (key) => page.keyboard.press(key);
  const { length } = await page.evaluate(() => ({ length: globalThis.peltApp.clips()[globalThis.peltApp.store.get().clip].frames }));
  const went = [];
  await set({ frame: 4 });
  for (const key of ["ArrowLeft", "Shift+ArrowLeft", "Shift+ArrowRight", "ArrowRight", "End", "ArrowRight", "Home"]) {
    await press(key);
    went.push((await get()).frame);
  }
  check("arrows go by one and ten frames, and stop at the ends", same(went, [3, 0, Math.min(10, length - 1), Math.min(11, length - 1), length - 1, length - 1, 0]), went.join());
  const clips = await page.evaluate(() => globalThis.peltApp.clips().length), { clip } = await get(), through = [];
  for (let i = 0; i < clips; i++) { await press("["); through.push((await get()).clip); }
  check("[ goes round all clips", same(through, Array.from({ length: clips }, (_, i) => (clip - 1 - i + clips) % clips)), through.join());
  await press("3");
  await press("9");
  check("a number without a skin does nothing", (await get()).skin === 2);
  const shown = [];
  for (const key of ["v", "v", "v", "v", "v", "c", "c", "c", "X", "x", "h", "h"]) {
    await press(key);
    const { layout, shading, wireframe, difference } = await get();
    shown.push(`${layout} ${shading} ${wireframe} ${difference}`);
  }
  check("letters go through what can be shown", same(shown, ["overlay clay false false", "wipe clay false false", "model clay false false", "skins clay false false", "side clay false false", "side textures false false", "side normals false false", "side clay false false", "side clay true false", "side clay false false", "side clay false true", "side clay false false"]), shown.join("; "));
  await press("Control+v");
  await press("Alt+v");
  await page.locator(".legend-top").focus();
  await page.keyboard.press("v");
  await page.locator("select.clip").focus();
  await page.keyboard.press("h");
  check("other keys, and what is typed, are left alone", (await get()).layout === "side" && !(await get()).difference);
  await page.evaluate(() => document.activeElement.blur());
  await page.locator(".play").focus();
  await press("ArrowRight");
  check("arrows work on plain buttons too", (await get()).frame === 1);
  await press("?");
  const listed = await page.evaluate(() => [...document.querySelectorAll("dialog.help dl dt")].map((one) => `${[...one.children].map((key) => key.textContent).join("+")}: ${one.nextElementSibling.textContent}`));
  check("the list has all keys", listed.length === 30 && listed.includes("Home+End: first or last frame") && listed.includes("1+9: a skin") && listed.includes("J: panel: Pull") && listed.includes("Space: play or pause"), listed.join("; "));
  await press("v");
  check("while it is open, keys do nothing else", (await get()).layout === "side");
  await press("?");
  const open = [await page.locator("dialog.help").isVisible()];
  await page.getByRole("button", { name: "Help" }).click();
  open.push(await page.locator("dialog.help").isVisible());
  await page.locator("dialog.help .tiny").click();
  open.push(await page.locator("dialog.help").isVisible());
  await press("?");
  await page.mouse.click(5, 5);
  open.push(await page.locator("dialog.help").isVisible());
  check("and it closes by its key, its button, and beside it", same(open, [false, true, false, false]), open.join());
  for (const [key, panel] of [["j", "pull"], ["i", "inside"], ["m", "fit"], ["k", "face"]]) {
    await press(key);
    const { panel: now } = await get();
    if (now !== panel) check("letters open panels", false, `${key} ${now}`);
  }
}

async function camera({ page, check, set }) {
  const press = (key) => page.keyboard.press(key);
  const eye = () => page.evaluate(() => {
    const { camera, controls } = globalThis.peltApp.stage;
    const to = camera.position.clone().sub(controls.target), aim = camera.getWorldDirection(to.clone()).dot(to) / -to.length(); // 1: the camera looks at its target
    return { aim, target: controls.target.toArray(), offset: to.toArray(), far: to.length(), across: Math.atan2(to.x, to.z), up: Math.asin(to.y / to.length()), near: camera.near, end: camera.far, most: controls.maxDistance };
  });
  const size = page.viewportSize();
  for (const [layout, width] of [["model", size.width], ["side", size.width + 420], ["side", size.width]]) {
    await page.setViewportSize({ ...size, width });
    await page.waitForFunction((wide) => document.querySelector(".stage").clientWidth > wide, width === size.width ? 0 : 900);
    await set({ layout });
    await press("f");
    const seen = await page.evaluate(() => {
      const app = globalThis.peltApp, { positions, camera } = app.stage, point = camera.position.clone();
      const low = [9, 9, 9], high = [-9, -9, -9], box = [[9e9, 9e9, 9e9], [-9e9, -9e9, -9e9]];
      camera.updateMatrixWorld();
      for (let i = 0; i < positions.length; i += 3) {
        point.fromArray(positions, i).toArray().forEach((x, c) => { box[0][c] = Math.min(box[0][c], x); box[1][c] = Math.max(box[1][c], x); });
        point.project(camera).toArray().forEach((x, c) => { low[c] = Math.min(low[c], x); high[c] = Math.max(high[c], x); });
      }
      return { low, high, box, stack: app.stage.element.dataset.stack, size: [app.stage.element.clientWidth, app.stage.element.clientHeight], arranged: app.stage.element.dataset.arrangement };
    });
    const { aim, target, near, end, far, most, across, up } = await eye(), [low, high] = seen.box, reach = Math.hypot(...high.map((x, c) => x - low[c]));
    const columns = layout === "side" && width > size.width, room = columns ? 84 / seen.size[1] : 0; // the legend covers the bottom
    check("the whole character is in view, as large as it can be", Math.max(...seen.high.slice(0, 2), -seen.low[0]) < 1 && seen.low[1] > -1 + 1.9 * room && Math.max(seen.high[0], -seen.low[0], seen.high[1], (-seen.low[1]) / (1 - 2 * room)) > 0.55, JSON.stringify([layout, seen]));
    check("and nothing of it is cut off", seen.low[2] > -1 && seen.high[2] < 1 && Math.abs(near - 0.005 * reach) < 1e-3 * reach && end > far + reach && Math.abs(most / reach - 20) < 0.1, JSON.stringify([near, end, most, reach]));
    check("from the front, a little from the side and above", close([across, up, aim], [Math.atan2(0.42, 1), Math.atan2(0.16, Math.hypot(0.42, 1)), 1], 1e-3), `${across} ${up}`);
    const middle = low.map((x, c) => (x + high[c]) / 2);
    check("around its middle", close([target[0], target[2]], [middle[0], middle[2]], (columns ? 0.1 : 1e-3) * reach) && (columns ? target[1] < middle[1] - 0.01 * reach : Math.abs(target[1] - middle[1]) < 1e-3 * reach), JSON.stringify([target, middle, reach]));
    check("the panes are told apart", seen.arranged === layout && seen.stack === (columns || layout === "model" ? "columns" : "rows"), JSON.stringify(seen));
  }
  const still = await eye();
  for (const [key, across, up] of [["Alt+ArrowLeft", -0.12, 0], ["Alt+ArrowRight", 0.12, 0], ["Alt+ArrowUp", 0, 0.12], ["Alt+ArrowDown", 0, -0.12]]) {
    const before = await eye();
    await press(key);
    const { across: a, up: u, far, target, aim } = await eye();
    check("Alt and arrows orbit", close([a - before.across, u - before.up, far - before.far, ...target, aim], [across, up, 0, ...before.target, 1], 1e-3), `${key} ${a - before.across} ${u - before.up}`);
  }
  for (let i = 0; i < 16; i++) await press("Alt+ArrowUp");
  const { up: highest } = await eye();
  check("but not over the top", highest > 1.2 && highest < 1.45, highest);
  await press("f");
  await press("+");
  const [closer] = [await eye()];
  await press("-");
  await press("-");
  const away = await eye();
  check("plus and minus come closer and go away", close([closer.far / still.far, away.far / still.far], [1 / 1.15, 1.15], 1e-3) && close(away.target, still.target, 1e-6), `${closer.far / still.far} ${away.far / still.far}`);
  await set({ frame: 2, layout: "model" });
  check("a camera that was moved stays", close([(await eye()).far], [away.far], 1e-9));
  await press("e");
  const worst = await page.evaluate(() => {
    const { positions, truth, box } = globalThis.peltApp.stage;
    let [best, most] = [0, -1];
    for (let v = 0; v < positions.length / 3; v++) {
      const far = Math.hypot(...[0, 1, 2].map((c) => positions[3 * v + c] - truth[3 * v + c]));
      if (far > most) [best, most] = [v, far];
    }
    return { place: [...positions.slice(3 * best, 3 * best + 3)], reach: Math.hypot(...["x", "y", "z"].map((c) => box.max[c] - box.min[c])), errors: globalThis.peltApp.stage.errors[best] - most };
  });
  const there = await eye();
  check("E looks at the worst vertex, from near", close(there.target, worst.place, 1e-6) && Math.abs(there.far / worst.reach - 0.45) < 1e-3 && Math.abs(there.aim - 1) < 1e-6 && close([there.across, there.up], [away.across, away.up], 1e-3) && Math.abs(worst.errors) < 1e-6, JSON.stringify([there, worst]));
  await page.getByRole("button", { name: "Show the whole character" }).click();
  check("a button shows all again", close((await eye()).target, still.target, 0.2) && (await eye()).far > 1.5 * there.far);
  await set({ layout: "side" });
  // What truth looks like: normals of its own surface, summed where the rest mesh has one place and normal.
  const shading = await page.evaluate(() => {
    const { mesh, real, truth } = globalThis.peltApp.stage;
    globalThis.peltApp.stage.draw();
    const key = (v) => [...mesh.positions.slice(3 * v, 3 * v + 3), ...mesh.normals.slice(3 * v, 3 * v + 3).map((x) => Math.round(100 * x))].join(), sums = new Map();
    for (let t = 0; t < mesh.indices.length; t += 3) {
      const corners = [...mesh.indices.slice(t, t + 3)], [a, b, c] = corners.map((v) => [...truth.slice(3 * v, 3 * v + 3)]), u = b.map((x, i) => x - a[i]), w = c.map((x, i) => x - a[i]);
      const n = [u[1] * w[2] - u[2] * w[1], u[2] * w[0] - u[0] * w[2], u[0] * w[1] - u[1] * w[0]];
      for (const v of corners) sums.set(key(v), (sums.get(key(v)) ?? [0, 0, 0]).map((x, i) => x + n[i]));
    }
    let wrong = 0;
    for (let v = 0; v < mesh.vertices; v++) {
      const n = sums.get(key(v)), length = Math.hypot(...n);
      wrong += Number(Math.hypot(...n.map((x, i) => x / length - real.normals[3 * v + i])) > 1e-3);
    }
    return wrong / mesh.vertices;
  });
  check("the truth is shaded by its own surface", shading < 0.02, shading);
}

async function divider({ page, check, set, get }) {
  await set({ layout: "wipe", wipe: 0.5 });
  const title = async () => (await texts(page, ".pane-title")).map((text) => text.trim()).join(" | ");
  const { names, clip } = await page.evaluate(() => ({ names: globalThis.peltApp.character().skins.map(({ name }) => name), clip: globalThis.peltApp.clip().name }));
  check("a wipe says both", await title() === `Truth Model ${names[1]}`, await title());
  await page.locator(".divider").focus();
  const went = [];
  for (const key of ["ArrowRight", "ArrowLeft", "ArrowLeft", "End", "ArrowRight", "Home", "ArrowLeft"]) {
    await page.keyboard.press(key);
    went.push((await get()).wipe);
  }
  check("keys move the line, up to the edges", close(went, [0.52, 0.5, 0.48, 1, 1, 0, 0], 1e-9), went.join());
  await set({ wipe: 0.3 });
  const line = await page.evaluate(() => {
    const { left, width } = document.querySelector(".stage").getBoundingClientRect(), one = document.querySelector(".divider"), box = one.getBoundingClientRect();
    return [one.getAttribute("aria-valuenow"), (box.left + box.width / 2 - left) / width];
  });
  check("the line is where it says", line[0] === "30" && Math.abs(line[1] - 0.3) < 0.02, line.join());
  await set({ layout: "side" });
  check("side by side every pane has its title", await title() === `Truth ${clip} | Model ${names[1]} | Difference model − truth` && await page.locator(".divider").isHidden(), await title());
  await set({ skin: 2 });
  check("which follows the skin", await title() === `Truth ${clip} | Model ${names[2]} | Difference model − truth`, await title());
  check("three panes stand side by side, and nothing else", same(await page.evaluate(() => [...document.querySelectorAll(".pane")].map((one) => one.dataset.pane)), ["truth", "model", "difference"]));
  await set({ layout: "overlay", blend: 0 });
  const inks = await page.evaluate(() => globalThis.look.inks(globalThis.look.picture(...globalThis.look.pane("model"))));
  check("an overlay without the model is blue", inks.blue > 100 && inks.orange === 0, JSON.stringify(inks));
  await set({ blend: 0.5 });
}

async function messages({ page, check }) {
  const list = () => texts(page, ".message p");
  await page.evaluate(() => ["one", "two", "one", "three", "four"].forEach((sentence) => globalThis.peltApp.say(sentence)));
  check("a sentence is there once, the latest last", same(await list(), ["two", "one", "three", "four"]), (await list()).join());
  await page.evaluate(() => globalThis.peltApp.problem(new DOMException("stopped", "AbortError")));
  await page.evaluate(() => globalThis.peltApp.say("five", "problem"));
  check("the oldest makes room; what was stopped is no problem", same(await list(), ["one", "three", "four", "five"]) && same(await attributes(page, ".message", "role"), [["status"], ["status"], ["status"], ["alert"]]), (await list()).join());
  for (let i = 0; i < 4; i++) await page.locator(".message .plain").first().click();
  check("messages are dismissed", same(await list(), []));
  const waiting = await page.evaluate(async () => {
    const line = document.querySelector(".waiting-line"), app = globalThis.peltApp, seen = [line.hidden], wait = (time) => new Promise((done) => setTimeout(done, time));
    app.loading("Reading much");
    await wait(20);
    seen.push(line.hidden);
    for (let i = 0; i < 50 && line.hidden; i++) await wait(20);
    seen.push(line.hidden, line.textContent);
    app.loading(null);
    seen.push(line.hidden);
    app.loading("Reading little");
    app.loading(null);
    await wait(300);
    return [...seen, line.hidden];
  });
  check("what takes long is said", same(waiting, [true, true, false, "Reading much …", true, true]), waiting.join());
  check("nothing is empty here", await page.locator(".welcome").isHidden());
}

async function tabs({ page, check, get }) {
  const state = () => page.evaluate(() => [...document.querySelectorAll(".tabs button")].filter((tab) => !tab.hidden).map((tab) => `${tab.textContent}${tab.getAttribute("aria-selected") === "true" && tab.tabIndex === 0 ? "!" : tab.tabIndex === -1 ? "" : "?"}`).join(" "));
  const open = () => page.evaluate(() => [...document.querySelectorAll(".panel-body > div")].filter((panel) => !panel.hidden).map(({ id }) => id).join());
  check("tabs are those that suit", await state() === "Numbers! Regions Confidence Pull Inside Fit" && await open() === "panel-numbers", `${await state()} ${await open()}`);
  await page.locator("#tab-numbers").focus();
  const went = [];
  for (const key of ["ArrowLeft", "ArrowRight", "ArrowRight", "ArrowRight", "ArrowRight", "ArrowLeft"]) {
    await page.keyboard.press(key);
    went.push(`${(await get()).panel} ${await open()} ${await page.evaluate(() => document.activeElement.id)}`);
  }
  check("arrows go along the tabs", same(went, ["numbers", "regions", "confidence", "pull", "inside", "pull"].map((id) => `${id} panel-${id} tab-${id}`)), went.join("; "));
}

async function numbers({ page, check, set }) {
  await set({ frame: 7, skin: 1, panel: "numbers" });
  const pairs = () => page.evaluate(() => Object.fromEntries([...document.querySelectorAll("#panel-numbers dt")].map((one) => [one.textContent, one.nextElementSibling.textContent])));
  const wanted = await page.evaluate(() => {
    const app = globalThis.peltApp, { positions, truth } = app.stage, far = [];
    for (let v = 0; v < truth.length / 3; v++) far.push(Math.hypot(...[0, 1, 2].map((c) => positions[3 * v + c] - truth[3 * v + c])));
    const order = [...far].sort((a, b) => a - b), { facts, bytes } = app.skinNow();
    return { rms: Math.sqrt(far.reduce((sum, x) => sum + x * x, 0) / far.length), most: order.at(-1), below: order[Math.floor(0.95 * (far.length - 1))], worst: far.indexOf(order.at(-1)), facts, bytes };
  });
  await page.waitForFunction((text) => document.querySelector("#panel-numbers dd")?.textContent === text, short(wanted.rms), { timeout: 3000 }).catch(() => {});
  const told = await pairs(), { facts } = wanted;
  check("the frame's figures are those of what is drawn", same([told.rms, told["95 % of vertices below"], told.largest, told["worst vertex"]], [short(wanted.rms), short(wanted.below), short(wanted.most), String(wanted.worst)]), JSON.stringify([told, wanted]));
  check("the skin says how it was made", same([told["made by"], told.bundle, told.method, told.blend, told.corrective, told["Trained on"], told["training: rms"], told["training: largest"], told["training: error"], told["training: frames"]],
    [facts.made_by, facts.bundle, facts.method, facts.blend, facts.corrective, `${facts.examples} examples of ${facts.clips.join(", ")}`, short(facts.train.rms), short(facts.train.max), short(facts.train.rel_err), String(facts.train.frames)]), JSON.stringify([told, facts]));
  const nanoseconds = parseFloat(told["per vertex"]), milliseconds = parseFloat(told.deform);
  check("and how fast it is here", told.vertices === "2,972" && Math.abs(nanoseconds * 2972 / 1e6 - milliseconds) < 0.006 && milliseconds > 0 && told.Size.endsWith(" kB"), JSON.stringify(told));
}
