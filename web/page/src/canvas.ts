// canvas.ts: what the stage draws on. Smooth edges cost a graphics device nearly nothing, but a processor four times as long:
// where there is no device, they have to wait until nothing moves.

import { el } from './dom';

export interface Drawable { canvas: HTMLCanvasElement; context: WebGL2RenderingContext | null; smooth: boolean }

function drawable(antialias: boolean): Drawable {
  const canvas = el('canvas', { className: 'stage-canvas', aria: { hidden: 'true' } });
  return { canvas, smooth: antialias, context: canvas.getContext('webgl2', { alpha: true, depth: true, stencil: false, antialias, powerPreference: 'high-performance' }) };
}

function drawnByProcessor(context: WebGL2RenderingContext): boolean {
  const names = context.getExtension('WEBGL_debug_renderer_info');
  return names !== null && /swiftshader|llvmpipe|softpipe|software|basic render/i.test(String(context.getParameter(names.UNMASKED_RENDERER_WEBGL)));
}

export function makeDrawable(): Drawable {
  const usual = drawable(true);
  if (!usual.context || !drawnByProcessor(usual.context)) return usual;
  usual.context.getExtension('WEBGL_lose_context')?.loseContext();
  return drawable(false);
}
