// forms.mjs: reads the output of test/dump_forms.c, which documents the format.

// From an ArrayBuffer: { name, file, vertices, joints, controls, hasTangents, diagonal, poses }[].
export function readForms(bytes) {
  const view = new DataView(bytes);
  let at = 0;
  const u32 = () => view.getUint32((at += 4) - 4, true);
  const f32 = () => view.getFloat32((at += 4) - 4, true);
  const floats = (count) => new Float32Array(bytes, (at += 4 * count) - 4 * count, count);
  const raw = () => {
    const size = u32(), first = at;
    at += Math.ceil(size / 4) * 4;
    return new Uint8Array(bytes, first, size);
  };
  const forms = [];
  while (at < view.byteLength) {
    const form = { name: new TextDecoder().decode(raw()), file: raw(), vertices: u32(), joints: u32(), controls: u32(),
      hasTangents: u32() !== 0, diagonal: f32() };
    form.poses = Array.from({ length: u32() }, () => ({
      locals: floats(10 * form.joints), controls: floats(form.controls), level: f32(), positionGap: f32(), normalGap: f32(),
      positions: floats(3 * form.vertices), normals: floats(3 * form.vertices),
      tangents: form.hasTangents ? floats(4 * form.vertices) : null,
    }));
    forms.push(form);
  }
  return forms;
}

// Sets a pose of a skin from the file.
export function posed(skin, { locals, controls, level }) {
  const pose = skin.createPose();
  pose.locals.set(locals);
  pose.controls.set(controls);
  pose.level = level;
  pose.update();
  return pose;
}

// The largest difference; infinite if any value is NaN.
export function largestGap(a, b) {
  let worst = a.length === b.length ? 0 : Infinity;
  for (let i = 0; i < a.length; i++) {
    const d = Math.abs(a[i] - b[i]);
    if (!(d <= worst)) worst = Number.isFinite(d) ? d : Infinity;
  }
  return worst;
}

// A message about what is too far from the processor's results, or null. Where changes of normals are sums of large
// terms that cancel, its own instruction sets differ by more than rounding.
export function difference(form, pose, { positions, normals }, limit) {
  const p = largestGap(positions, pose.positions) / form.diagonal, n = normals ? largestGap(normals, pose.normals) : 0;
  if (p <= limit && n <= Math.max(2e-6, 5 * pose.normalGap)) return null;
  return `${form.name}: positions differ by ${p.toExponential(2)} of the diagonal, normals by ${n.toExponential(2)}`;
}
