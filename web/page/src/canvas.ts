// canvas.ts: what the stage draws on. Smooth edges cost a graphics device nearly nothing, but a processor four times as long;
// where there is no device, motion is worth more than edges.

import { el } from './dom';

export interface Drawable { canvas: HTMLCanvasElement; context: WebGL2RenderingContext | null }

function drawable(antialias: boolean): Drawable {
  const canvas = el('canvas', { className: 'stage-canvas', aria: { hidden: 'true' } });
  return { canvas, context: canvas.getContext('webgl2', { alpha: true, depth: true, stencil: false, antialias, powerPreference: 'high-performance' }) };
}

function drawnByProcessor(context: WebGL2RenderingContext): boolean {
  const names = context.getExtension('WEBGL_debug_renderer_info');
  return names !== null && /swiftshader|llvmpipe|softpipe|software|basic render/i.test(String(context.getParameter(names.UNMASKED_RENDERER_WEBGL)));
}

export function makeDrawable(): Drawable {
  const smooth = drawable(true);
  if (!smooth.context || !drawnByProcessor(smooth.context)) return smooth;
  smooth.context.getExtension('WEBGL_lose_context')?.loseContext();
  return drawable(false);
}
