// surface.ts: how the skin's surface is drawn: clay, textures, normals, paint, or the heat map. One small shader for
// all of them, because compiling little means drawing early.
//
// Colours are computed linearly and converted to sRGB; heat and paint are output as they are, so that pixels match the
// legend.

import heat from '../../../report/heat.inc?raw';
import { Color, DoubleSide, ShaderMaterial, Vector3, type Texture } from 'three';

export const CLAY = 0;
export const TEXTURES = 1;
export const NORMALS = 2;
export const HEAT = 3;
export const PAINT = 4;

// The heat map of the reports, evenly spaced. Beyond the scale is a colour that it does not have.
export const HEAT_STOPS = heat.match(/0x[0-9a-f]{6}/g)!.map((hex) => `#${hex.slice(2)}`);
export const HEAT_BEYOND = '#ffffff';

const rgb = (hex: string) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16) / 255);

const vec = (hex: string) => `vec3(${rgb(hex).map((x) => x.toFixed(4)).join(', ')})`;

const VERTEX = `
attribute vec3 truth;
attribute vec3 paint;
varying vec3 vNormal;
varying vec3 vToEye;
varying vec3 vSeen;
varying vec2 vUv;
varying float vError;
varying vec3 vPaint;
uniform float pointSize;
void main() {
  vec4 seen = modelViewMatrix * vec4(position, 1.0);
  vNormal = normalMatrix * normal;
  vToEye = isOrthographic ? vec3(0.0, 0.0, 1.0) : -seen.xyz;
  vSeen = seen.xyz;
  vUv = uv;
  vError = distance(position, truth);
  vPaint = paint;
  gl_Position = projectionMatrix * seen;
  gl_PointSize = pointSize;
}`;

const FRAGMENT = `
uniform int mode;
uniform vec3 colour;
uniform vec3 tint;
uniform float opacity;
uniform float scale;
uniform bool textured;
uniform bool points; // without triangles
uniform sampler2D image;
uniform bool bumped;
uniform sampler2D bumps;
varying vec3 vNormal;
varying vec3 vToEye;
varying vec3 vSeen;
varying vec2 vUv;
varying float vError;
varying vec3 vPaint;

vec3 heat(float share) {
  if (!(share <= 1.0)) return ${vec(HEAT_BEYOND)};
  vec3 stops[${HEAT_STOPS.length}];
  ${HEAT_STOPS.map((hex, i) => `stops[${i}] = ${vec(hex)};`).join('\n  ')}
  float at = clamp(share, 0.0, 1.0) * ${(HEAT_STOPS.length - 1).toFixed(1)};
  int low = int(min(floor(at), ${(HEAT_STOPS.length - 2).toFixed(1)}));
  return mix(stops[low], stops[low + 1], at - float(low));
}

// The normal of a normal map. Its tangents come from how texture coordinates run across the picture, for truth and model
// alike: the truth has no others, and the two are to be compared. Green points against v, as glTF has it.
vec3 bump(vec3 n) {
  vec3 across = dFdx(vSeen), upward = dFdy(vSeen);
  vec2 du = dFdx(vUv), dv = dFdy(vUv);
  vec3 a = cross(upward, n), b = cross(n, across);
  vec3 tangent = a * du.x + b * dv.x, bitangent = a * du.y + b * dv.y;
  float size = max(dot(tangent, tangent), dot(bitangent, bitangent));
  vec3 map = texture2D(bumps, vUv).xyz * 2.0 - 1.0;
  return size > 0.0 ? normalize((tangent * map.x - bitangent * map.y) * inversesqrt(size) + n * map.z) : n;
}

vec3 encode(vec3 x) {
  return mix(1.055 * pow(max(x, vec3(0.0)), vec3(1.0 / 2.4)) - 0.055, x * 12.92, vec3(lessThanEqual(x, vec3(0.0031308))));
}

void main() {
  vec3 n = normalize(vNormal);
  vec3 eye = normalize(vToEye);
  if (points && dot(n, eye) < 0.0) discard; // the far side would show through
  if (!points && !gl_FrontFacing) n = -n;
  if (bumped && mode == ${TEXTURES}) n = bump(n);
  float key = max(dot(n, normalize(vec3(0.45, 0.65, 0.75))), 0.0);
  float fill = max(dot(n, normalize(vec3(-0.8, -0.1, 0.5))), 0.0);
  float sky = 0.5 + 0.5 * n.y;
  float rim = pow(1.0 - max(dot(n, eye), 0.0), 4.0);
  if (mode == ${NORMALS}) {
    gl_FragColor = vec4(0.5 + 0.5 * n, opacity);
  } else if (mode == ${HEAT} || mode == ${PAINT}) {
    float shade = 0.80 + 0.20 * max(dot(n, eye), 0.0);
    gl_FragColor = vec4((mode == ${HEAT} ? heat(vError / scale) : vPaint) * shade, opacity);
  } else {
    vec3 base = colour;
    if (mode == ${TEXTURES} && textured) base *= pow(texture2D(image, vUv).rgb, vec3(2.2));
    vec3 light = vec3(1.0, 0.97, 0.93) * key * 0.72 + vec3(0.72, 0.82, 1.0) * (fill * 0.2 + 0.08 + 0.2 * sky);
    float glint = pow(max(dot(reflect(-normalize(vec3(0.45, 0.65, 0.75)), n), eye), 0.0), 24.0) * 0.05;
    gl_FragColor = vec4(encode((base * light + glint + rim * 0.06) * tint), opacity);
  }
}`;

const CLAY_COLOUR = new Color(0.52, 0.5, 0.48);

export interface Surface extends ShaderMaterial {
  uniforms: {
    mode: { value: number };
    colour: { value: Color };
    tint: { value: Vector3 };
    opacity: { value: number };
    scale: { value: number };
    textured: { value: boolean };
    image: { value: Texture | null };
    bumped: { value: boolean };
    bumps: { value: Texture | null };
    pointSize: { value: number };
    points: { value: boolean };
  };
}

export function createSurface(): Surface {
  return new ShaderMaterial({
    vertexShader: VERTEX,
    fragmentShader: FRAGMENT,
    side: DoubleSide,
    polygonOffset: true,
    polygonOffsetFactor: 1,
    polygonOffsetUnits: 1,
    uniforms: {
      mode: { value: CLAY },
      colour: { value: CLAY_COLOUR },
      tint: { value: new Vector3(1, 1, 1) },
      opacity: { value: 1 },
      scale: { value: 1 },
      textured: { value: false },
      image: { value: null },
      bumped: { value: false },
      bumps: { value: null },
      pointSize: { value: 1 },
      points: { value: false },
    },
  }) as unknown as Surface;
}
