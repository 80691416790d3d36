// lamp_picture.ts: pictures of a lit scene as the server sends them, and what the soft cache makes of two of them.

export const VERDICTS = ['hit', 'blend', 'miss'] as const;
export type Verdict = (typeof VERDICTS)[number];

export interface Picture { width: number; height: number; pixels: Uint8Array } // sRGB
export interface Answer extends Picture {
  verdict: Verdict;
  misfit: number; // trusted up to 1
  milliseconds: number;
  share: number; // of a full gather, done so far
}

const HEAD = 24;

export function readAnswer(bytes: ArrayBuffer): Answer {
  const view = new DataView(bytes);
  const width = bytes.byteLength >= HEAD ? view.getUint32(0, true) : 0;
  const height = width ? view.getUint32(4, true) : 0;
  if (!width || bytes.byteLength !== HEAD + 3 * width * height) throw new Error('The picture received is incomplete.');
  return {
    width, height, verdict: VERDICTS[view.getUint32(8, true)] ?? 'miss', misfit: view.getFloat32(12, true),
    milliseconds: view.getFloat32(16, true), share: view.getFloat32(20, true), pixels: new Uint8Array(bytes, HEAD),
  };
}

/** How much of the key points' picture the soft cache keeps: all up to 1, none from 1.5 on (pelt_soft_cache_trust). */
export const trust = (misfit: number) => (misfit <= 1 ? 1 : misfit < 1.5 ? (1.5 - misfit) / 0.5 : 0);

const LINEAR = Float32Array.from({ length: 256 }, (_, i) => (i <= 10 ? i / 255 / 12.92 : ((i / 255 + 0.055) / 1.055) ** 2.4));
const CODES = 4096;
const CODED = Uint8Array.from({ length: CODES + 1 }, (_, i) => {
  const light = i / CODES;
  return Math.round(255 * (light <= 0.0031308 ? 12.92 * light : 1.055 * light ** (1 / 2.4) - 0.055));
});

/** Two pictures mixed in linear light: `share` of the first. */
export function blend(a: Picture, b: Picture, share: number): Picture {
  if (share >= 1 || share <= 0) return share >= 1 ? a : b;
  const pixels = new Uint8Array(b.pixels.length);
  for (let i = 0; i < pixels.length; i++) pixels[i] = CODED[Math.round(CODES * (share * LINEAR[a.pixels[i]!]! + (1 - share) * LINEAR[b.pixels[i]!]!))]!;
  return { width: b.width, height: b.height, pixels };
}

export function put(canvas: HTMLCanvasElement, { width, height, pixels }: Picture): void {
  if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
  const image = new ImageData(width, height);
  const words = new Uint32Array(image.data.buffer);
  for (let i = 0, p = 0; i < words.length; i++, p += 3) words[i] = 0xff000000 | (pixels[p + 2]! << 16) | (pixels[p + 1]! << 8) | pixels[p]!;
  canvas.getContext('2d')!.putImageData(image, 0, 0);
}
