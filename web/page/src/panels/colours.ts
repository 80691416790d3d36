// colours.ts: numbers on the skin as colours, sRGB 0 to 1, three per vertex.

export type Colour = [number, number, number];

const hex = (code: number): Colour => [(code >> 16) / 255, ((code >> 8) & 255) / 255, (code & 255) / 255];
const RAMP = [0x566074, 0x2f6ba0, 0x2b9a91, 0x9cc544, 0xffe14a].map(hex); // 0 to 1, each lighter than the one before
const NEGATIVE = hex(0xe0367a);

/** A ramp from 0 to 1; negative values are red. */
export function rampColour(value: number): Colour {
  if (value < 0) return mix(RAMP[0], NEGATIVE, Math.min(-value, 1));
  const at = Math.min(value, 1) * (RAMP.length - 1);
  const low = Math.min(Math.floor(at), RAMP.length - 2);
  return mix(RAMP[low], RAMP[low + 1], at - low);
}

export const mix = (a: Colour, b: Colour, share: number): Colour => [0, 1, 2].map((c) => a[c] + share * (b[c] - a[c])) as Colour;

export function weightColours(weights: Float32Array): Float32Array {
  const colours = new Float32Array(3 * weights.length);
  weights.forEach((weight, v) => colours.set(rampColour(weight), 3 * v));
  return colours;
}

/** x y z as red green blue (EigenSkin, figure 5): grey is no displacement, the largest saturates its channel. */
export function displacementColours(displacement: Float32Array): Float32Array {
  let most = 0;
  for (const x of displacement) most = Math.max(most, Math.abs(x));
  return displacement.map((x) => 0.5 + (most > 0 ? (0.48 * x) / most : 0));
}

/** Easily distinguished from the previous ones. */
export function hueColour(index: number): Colour {
  const hue = (index * 0.61803398875) % 1;
  const channel = (shift: number) => 0.58 + 0.36 * Math.cos(2 * Math.PI * (hue - shift));
  return [channel(0), channel(1 / 3), channel(2 / 3)];
}

/** Several supports at once (figure 3): each in its own colour, mixed where they overlap. */
export function supportColours(supports: Float32Array[], count: number): Float32Array {
  const colours = new Float32Array(3 * count);
  const ground = RAMP[0];
  for (let v = 0; v < count; v++) {
    const sum: Colour = [0, 0, 0];
    let total = 0;
    let most = 0;
    supports.forEach((weights, i) => {
      const weight = weights[v];
      if (!(weight > 0)) return;
      hueColour(i).forEach((x, c) => (sum[c] += weight * x));
      total += weight;
      most = Math.max(most, weight);
    });
    colours.set(total > 0 ? mix(ground, sum.map((x) => x / total) as Colour, Math.min(1, 0.25 + most)) : ground, 3 * v);
  }
  return colours;
}
