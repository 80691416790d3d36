// relit.mjs: the picture of a lamp in a page, compared with what `pelt relight run` writes. A page may be a frame in another.

import { readFileSync } from "node:fs";

// Light [height][width][3], from the top, and its width.
export function readPfm(file) {
  const bytes = readFileSync(file), head = /^PF\s(\d+)\s(\d+)\s(\S+)\s/.exec(bytes.toString("latin1", 0, 100)), [width, height] = [Number(head[1]), Number(head[2])];
  const numbers = new Float32Array(bytes.buffer.slice(bytes.byteOffset + head[0].length, bytes.byteOffset + bytes.length));
  return Array.from({ length: 3 * width * height }, (_, i) => numbers[3 * width * (height - 1 - Math.floor(i / (3 * width))) + (i % (3 * width))]);
}

export const pixelsOf = (page) => page.evaluate(() => {
  const canvas = document.querySelector("canvas.relit"), copy = new OffscreenCanvas(canvas.width, canvas.height);
  copy.getContext("2d").drawImage(canvas, 0, 0);
  return [...copy.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data].filter((_, i) => i % 4 !== 3);
});

export const placeOf = (page) => page.locator("#panel-light .exact").evaluateAll((fields) => fields.map((field) => Number(field.value)));

export const toLinear = (x) => (x <= 10 ? x / 255 / 12.92 : ((x / 255 + 0.055) / 1.055) ** 2.4);

// One channel of a pixel of a square picture, and of its neighbours.
export function around(picture, pixel, c) {
  const side = Math.sqrt(picture.length / 3), clamp = (x) => Math.min(Math.max(x, 0), side - 1);
  return Array.from({ length: 9 }, (_, k) => picture[3 * (clamp(Math.floor(pixel / side) + Math.floor(k / 3) - 1) * side + clamp((pixel % side) + (k % 3) - 1)) + c]);
}

// How far a picture of the page is from one of the program, up to its white, where that has no edges.
export function apart(pixels, picture) {
  const light = pixels.map(toLinear), flat = [...pixels.keys()].filter((i) => pixels[i] < 250 && Math.max(...around(picture, Math.floor(i / 3), i % 3)) < 1.8 * Math.min(...around(picture, Math.floor(i / 3), i % 3)));
  const sum = (f) => flat.reduce((all, i) => all + f(i), 0), white = sum((i) => light[i] * picture[i]) / sum((i) => light[i] ** 2);
  return { far: Math.sqrt(sum((i) => (white * light[i] - picture[i]) ** 2) / sum((i) => picture[i] ** 2)), white, share: flat.length / pixels.length };
}
