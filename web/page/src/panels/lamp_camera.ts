// lamp_camera.ts: between points of a scene and its picture.

export interface Camera { eye: number[]; axes: number[][]; field_of_view: number }

const dot = (a: number[], b: number[]) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];

/** Projects a point of the scene to the picture, 0 to 1 from the top left; null: behind the camera. */
export function project(camera: Camera, aspect: number, place: number[]): [number, number] | null {
  const d = place.map((x, i) => x - camera.eye[i]);
  const depth = -dot(d, camera.axes[2]);
  if (depth <= 0) return null;
  const scale = depth * Math.tan(camera.field_of_view / 2);
  return [(1 + dot(d, camera.axes[0]) / (scale * aspect)) / 2, (1 - dot(d, camera.axes[1]) / scale) / 2];
}

/** The point under a pixel in the plane where coordinate `axis` is `at`; null: the ray does not hit it. */
export function unproject(camera: Camera, aspect: number, point: [number, number], axis: number, at: number): number[] | null {
  const tall = Math.tan(camera.field_of_view / 2);
  const across = (2 * point[0] - 1) * tall * aspect;
  const up = (1 - 2 * point[1]) * tall;
  const ray = [0, 1, 2].map((c) => across * camera.axes[0][c] + up * camera.axes[1][c] - camera.axes[2][c]);
  const far = (at - camera.eye[axis]) / ray[axis];
  return far > 0 && Number.isFinite(far) ? camera.eye.map((x, c) => x + far * ray[c]) : null;
}
