// layout.ts: what the words of pelt_wasm.c's structs are, in their order there. Everything is 4 bytes.

const SKIN_WORDS = [
  "result", "vertexCount", "blockCount", "jointCount", "drivenCount", "controlCount", "joints", "names", "vertexSlots",
  "blockFirst", "entryJoints", "entryWeights", "restPositions", "restNormals", "restTangents", "driven", "controls",
  "about", "aboutSize", "meshHash", "hasCorrective", "coefficientCount", "slotVertices", "words", "wordCount", "form",
  "phi", "parts", "turns", "ownVec4s", "numbers",
] as const;

const POSE_WORDS = [
  "locals", "controls", "coefficients", "matrices", "positions", "normals", "tangents",
  "box", "box1", "box2", "box3", "box4", "box5", "packed",
] as const;

const KEYS_WORDS = [
  "result", "pointCount", "componentCount", "keyCount", "basisCount", "regionCount", "enginePointCount", "frameCount",
  "diagonal", "keyPoints", "about", "aboutSize", "keyValues", "values", "misfit",
] as const;

// Bytes and words of the library's own structs (pelt.h).
export const TRANSFORM_FLOATS = 10;
export const JOINT_WORDS = 24;
export const DRIVEN_WORDS = 18;
export const CONTROL_WORDS = 4;
export const NUMBERS_WORDS = 20;
export const MATRIX_FLOATS = 12;
export const BLOCK = 16;

export type Words<Name extends string> = Record<Name, number>;

function reader<Name extends string>(names: readonly Name[]): (words: Uint32Array, address: number) => Words<Name> {
  return (words, address) => {
    const first = address >>> 2;
    return Object.fromEntries(names.map((name, i) => [name, words[first + i] ?? 0])) as Words<Name>;
  };
}

export type SkinWords = Words<(typeof SKIN_WORDS)[number]>;
export type PoseWords = Words<(typeof POSE_WORDS)[number]>;
export type KeysWords = Words<(typeof KEYS_WORDS)[number]>;

export const readSkin = reader(SKIN_WORDS);
export const readPose = reader(POSE_WORDS);
export const readKeys = reader(KEYS_WORDS);

// Byte offset of a word in its struct.
export const poseOffset = (name: (typeof POSE_WORDS)[number]): number => 4 * POSE_WORDS.indexOf(name);
export const keysOffset = (name: (typeof KEYS_WORDS)[number]): number => 4 * KEYS_WORDS.indexOf(name);
