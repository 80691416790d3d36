// split.ts: the line between picture and panels, dragged or moved by keys. Its place is remembered.

import { el } from './dom';

const KEPT = 'pelt-side';
const LEAST = 280;

export function sideSplit(root: HTMLElement) {
  const usual = () => (innerWidth <= 1180 ? 350 : innerWidth < 1280 ? 372 : 404); // as in style.css
  const most = () => Math.max(LEAST, Math.min(760, innerWidth - 420));
  let chosen = Number(localStorage.getItem(KEPT)) || null;
  const width = () => Math.min(most(), Math.max(LEAST, chosen ?? usual()));
  const line = el('div', {
    className: 'split', role: 'separator', tabIndex: 0, title: 'Drag to resize; double-click for the default width',
    aria: { label: 'Width of the panels', orientation: 'vertical', valuemin: String(LEAST) },
  });
  const apply = () => {
    if (chosen === null) root.style.removeProperty('--side');
    else root.style.setProperty('--side', `${width()}px`);
    line.setAttribute('aria-valuenow', String(width()));
    line.setAttribute('aria-valuemax', String(most()));
  };
  const choose = (pixels: number | null) => {
    chosen = pixels === null ? null : Math.round(Math.min(most(), Math.max(LEAST, pixels)));
    if (chosen === null) localStorage.removeItem(KEPT);
    else localStorage.setItem(KEPT, String(chosen));
    apply();
  };
  line.addEventListener('pointerdown', (event) => {
    line.setPointerCapture(event.pointerId);
    event.preventDefault();
    line.focus();
  });
  line.addEventListener('pointermove', (event) => { if (line.hasPointerCapture(event.pointerId)) choose(innerWidth - event.clientX); });
  line.addEventListener('dblclick', () => choose(null));
  line.addEventListener('keydown', (event) => {
    const step = { ArrowLeft: 16, ArrowRight: -16, PageUp: 80, PageDown: -80 }[event.key];
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    if (step) choose(width() + step);
    else if (event.key === 'Home') choose(most());
    else if (event.key === 'End') choose(LEAST);
    else if (event.key === 'Enter') choose(null);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  addEventListener('resize', apply);
  apply();
  return line;
}
