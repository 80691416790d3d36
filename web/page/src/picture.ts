// picture.ts: the stage as a picture: what is drawn, on its ground, with the titles of its panes and the scale of the heat
// map, so that the picture explains itself elsewhere.

import { Problem } from './data';
import type { Session } from './session';

const css = (name: string) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// The size of the picture in pixels.
export function pictureSize(session: Session, scale: number): [number, number] {
  const { clientWidth, clientHeight } = session.stage.element;
  return [Math.floor(clientWidth * scale), Math.floor(clientHeight * scale)];
}

// Draws into a canvas of the picture's size. Only one line may be between drawing and copying: the browser clears it.
export function compose(session: Session, scale: number, canvas: HTMLCanvasElement = document.createElement('canvas')) {
  const { stage } = session;
  const { renderer } = stage;
  if (!renderer) throw new Problem('There is no picture to save: this browser cannot draw in 3D.');
  const [width, height] = pictureSize(session, scale);
  if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
  const pen = canvas.getContext('2d')!;
  const usual = renderer.getPixelRatio();
  if (scale !== usual) renderer.setPixelRatio(scale);
  const gl = renderer.getContext();
  try {
    if (gl.drawingBufferWidth !== width || gl.drawingBufferHeight !== height) throw new Problem(`This browser cannot draw ${width} × ${height} pixels; choose a smaller picture.`);
    stage.draw();
    pen.fillStyle = css('--stage');
    pen.fillRect(0, 0, width, height);
    pen.drawImage(stage.canvas, 0, 0);
  } finally {
    if (scale !== usual) {
      renderer.setPixelRatio(usual);
      stage.draw();
    }
  }
  pen.setTransform(scale, 0, 0, scale, 0, 0);
  drawPanes(session, pen);
  drawLegend(session, pen);
  pen.setTransform(1, 0, 0, 1, 0, 0);
  return canvas;
}

function drawPanes(session: Session, pen: CanvasRenderingContext2D) {
  const stage = session.stage.element.getBoundingClientRect();
  const style = getComputedStyle(document.documentElement);
  pen.textBaseline = 'top';
  for (const [i, pane] of [...session.stage.element.querySelectorAll<HTMLElement>('.pane')].entries()) {
    const box = pane.getBoundingClientRect();
    const [left, top] = [box.left - stage.left, box.top - stage.top];
    pen.fillStyle = css('--line');
    if (i) pen.fillRect(left, top, session.stage.element.dataset.stack === 'rows' ? box.width : 1, session.stage.element.dataset.stack === 'rows' ? 1 : box.height);
    let x = left + 12;
    for (const part of pane.querySelectorAll<HTMLElement>('.pane-title > *')) {
      pen.font = `${part.tagName === 'B' ? 600 : 400} 13px ${style.fontFamily}`;
      pen.fillStyle = getComputedStyle(part).color;
      pen.fillText(part.textContent ?? '', x, top + 12);
      x += pen.measureText(`${part.textContent} `).width + 3;
    }
  }
  const divider = session.stage.element.querySelector<HTMLElement>('.divider')!;
  pen.fillStyle = css('--text');
  if (!divider.hidden) pen.fillRect(divider.getBoundingClientRect().left - stage.left + 12, 0, 1, stage.height);
}

function drawLegend(session: Session, pen: CanvasRenderingContext2D) {
  const legend = session.stage.element.querySelector<HTMLElement>('.legend');
  if (!legend || legend.hidden) return;
  const stage = session.stage.element.getBoundingClientRect();
  const bar = legend.querySelector<HTMLCanvasElement>('.legend-bar')!;
  const box = bar.getBoundingClientRect();
  const [left, top] = [box.left - stage.left, box.top - stage.top];
  pen.imageSmoothingEnabled = false;
  pen.drawImage(bar, left, top, box.width, box.height);
  pen.imageSmoothingEnabled = true;
  pen.font = `400 13px ${getComputedStyle(document.documentElement).fontFamily}`;
  pen.fillStyle = css('--dim');
  pen.fillText('Distance from the truth', left, top - 21);
  const [low, middle] = [...legend.querySelectorAll('.legend-ticks > span')].map((tick) => tick.textContent ?? '');
  const high = legend.querySelector<HTMLInputElement>('.legend-top')!.value;
  pen.fillText(low ?? '', left, top + 14);
  pen.textAlign = 'center';
  pen.fillText(middle ?? '', left + 0.469 * box.width, top + 14);
  pen.textAlign = 'right';
  pen.fillText(high, left + 0.9375 * box.width, top + 14);
  pen.textAlign = 'left';
}

export async function pictureFile(session: Session, scale: number): Promise<Blob> {
  const canvas = compose(session, scale);
  const blob = await new Promise<Blob | null>((done) => canvas.toBlob(done, 'image/png'));
  if (!blob) throw new Problem('The browser could not make a PNG of the picture.');
  return blob;
}
