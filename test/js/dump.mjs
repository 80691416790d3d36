// dump.mjs: shared by programs that compare their vertices with pelt's. A dump is written by test/dump_blend.c, which
// documents the format, or by test/dump_skin.c.

// From an ArrayBuffer.
export function readDump(bytes) {
  const view = new DataView(bytes);
  let at = 0;
  const u32 = () => view.getUint32((at += 4) - 4, true);
  const f32 = () => view.getFloat32((at += 4) - 4, true);
  const text = () => {
    const length = u32();
    const value = new TextDecoder().decode(new Uint8Array(bytes, at, length));
    at += Math.ceil(length / 4) * 4;
    return value;
  };
  const dump = { vertices: u32(), diagonal: f32(), hasNormals: u32() !== 0, clips: [] };
  const vectors = () => new Float32Array(bytes, (at += 12 * dump.vertices) - 12 * dump.vertices, 3 * dump.vertices);
  for (let clips = u32(); clips > 0; clips--) {
    const clip = { name: text(), frames: [] };
    for (let frames = u32(); frames > 0; frames--) {
      clip.frames.push({ time: f32(), positions: vectors(), normals: dump.hasNormals ? vectors() : null });
    }
    dump.clips.push(clip);
  }
  return dump;
}

// The meshes of the scene in order. Primitives of one node that have the same positions and weights are one range of
// vertices to pelt; three.js puts the primitives of a mesh into a group, and attributes that are the same are shared.
export function vertexRanges(gltf) {
  const meshes = [];
  gltf.scene.traverse((object) => {
    if (!object.isMesh) return;
    const { position, skinIndex } = object.geometry.attributes;
    const isPrimitive = gltf.parser.associations.get(object.parent)?.meshes !== undefined;
    const isTwin = (other) =>
      other.parent === object.parent &&
      other.geometry.attributes.position === position &&
      other.geometry.attributes.skinIndex === skinIndex;
    if (!isPrimitive || !meshes.some(isTwin)) meshes.push(object);
  });
  return meshes;
}
