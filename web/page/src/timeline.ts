// timeline.ts: the clip over time, with the error of every skin below. Click to go to a frame.

import type { Session } from './session';
import type { Errors } from './show';
import { el, segments } from './dom';
import { nice, quantile, short } from './heat';
import { icon } from './icons';
import { ink } from './skins';

type Kind = 'rms' | 'max';
const SPACE = 'http://www.w3.org/2000/svg';
const LEFT = 46; // room for the axis labels
const RIGHT = 10;
const TOP = 8;
const BOTTOM = 16;

function svg<K extends keyof SVGElementTagNameMap>(tag: K, attributes: Record<string, string | number>, text?: string): SVGElementTagNameMap[K] {
  const element = document.createElementNS(SPACE, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  if (text !== undefined) element.textContent = text;
  return element;
}

export function timeline(session: Session) {
  const { store } = session;
  let curves: (Partial<Errors> | null)[] = []; // measured on this clip
  let kind: Kind = 'rms';
  let asked = 0;

  const clips = el('select', { className: 'clip', title: 'Clip ([ and ])', aria: { label: 'Clip' }, on: { change: () => store.set({ clip: Number(clips.value), frame: 0, playing: false }) } });
  const play = el('button', { type: 'button', className: 'plain play', title: 'Play (space)', aria: { label: 'Play' }, on: { click: () => store.set({ playing: !store.get().playing }) } });
  const place = el('span', { className: 'place number', title: 'This frame / the last frame, counted from 0 as in `pelt measure`' });
  const figures = el('span', { className: 'frame-figures number', role: 'status' });
  const worst = el('button', { type: 'button', title: 'Go to the frame where this skin is worst (W)', className: 'tiny go-worst', aria: { label: 'Go to the worst frame' }, on: { click: () => goToWorst() } }, icon('worst'), el('span', {}, 'worst frame'));
  const kinds = segments<Kind>('Curve', [
    { value: 'rms', label: 'rms', title: 'Root mean square distance' }, { value: 'max', label: 'max', title: 'Largest distance of a vertex' },
  ], () => kind, (value) => { kind = value; kinds.update(); draw(); });
  const speed = el('select', { className: 'speed', title: 'Speed; max: one frame per display refresh', aria: { label: 'Speed' }, on: { change: () => store.set({ speed: Number(speed.value) }) } },
    ...[['0.25', '¼×'], ['0.5', '½×'], ['1', '1×'], ['2', '2×'], ['0', 'max']].map(([value, text]) => el('option', { value, selected: value === '1' }, text)));
  const chart = svg('svg', { class: 'chart', role: 'slider', tabindex: 0, 'aria-label': 'Frame', 'aria-valuemin': 0 });
  const tip = el('div', { className: 'tip', hidden: true });
  const track = el('div', { className: 'track' }, tip);
  track.prepend(chart);
  const holder = el('section', { className: 'timeline', aria: { label: 'Timeline' } },
    el('div', { className: 'transport' }, play, clips, place, speed, el('div', { className: 'gap' }), figures, worst, kinds.group),
    track, session.under);

  const frames = () => session.clips()[store.get().clip]?.frames ?? 0;
  const width = () => Math.max(80, track.clientWidth);
  const height = () => Math.max(40, track.clientHeight);
  const x = (frame: number) => LEFT + (frame / Math.max(1, frames() - 1)) * (width() - LEFT - RIGHT);
  const frameAt = (px: number) => Math.round(Math.min(1, Math.max(0, (px - LEFT) / (width() - LEFT - RIGHT))) * Math.max(0, frames() - 1));
  const current = () => curves[store.get().skin] ?? null;

  // The chosen skin always fits; others only as far as they do not flatten it and each other.
  function top(): number {
    const highs = curves.flatMap((curve) => (curve?.[kind] ? [quantile(curve[kind]!, 0.98)] : []));
    const own = Math.max(0, ...(current()?.[kind] ?? []));
    const common = Math.min(Math.max(...highs), 3 * quantile(highs, 0.5));
    return nice(Math.max(own, Number.isFinite(common) ? common : 0) || 1e-9) ;
  }

  function worstFrame(): number {
    const curve = current()?.[kind] ?? [];
    return curve.reduce((best, value, i) => (value > curve[best]! ? i : best), 0);
  }

  // Marks its worst vertex too: known beforehand for skins, seen when the frame is there for faces.
  function goToWorst() {
    const curve = current();
    if (!curve) return;
    const frame = worstFrame();
    const known = curve.worst_vertex?.[frame];
    const there = frame === store.get().frame;
    if (known === undefined && !there) {
      const end = session.on('truth', () => {
        end();
        if (store.get().frame === frame) store.set({ vertex: session.worstVertex() });
      });
    }
    store.set({ frame, playing: false, vertex: known ?? (there ? session.worstVertex() : -1) });
  }

  function path(values: number[], most: number): string {
    const tall = height() - TOP - BOTTOM;
    const y = (value: number) => TOP + tall * (1 - Math.min(1.03, value / most));
    return values.map((value, i) => `${i ? 'L' : 'M'}${x(i).toFixed(1)} ${y(value).toFixed(1)}`).join('');
  }

  function draw() {
    const count = frames();
    holder.hidden = count === 0;
    chart.replaceChildren();
    chart.setAttribute('viewBox', `0 0 ${width()} ${height()}`);
    if (!count) return;
    const most = top();
    const base = height() - BOTTOM;
    if (curves.some(Boolean)) {
      for (const share of [0, 0.5, 1]) {
        const y = TOP + (base - TOP) * (1 - share);
        chart.append(svg('line', { class: 'grid', x1: LEFT, x2: width() - RIGHT, y1: y, y2: y }), svg('text', { class: 'tick y', x: LEFT - 6, y: y + 3.5 }, short(most * share)));
      }
    } else chart.append(svg('line', { class: 'grid', x1: LEFT, x2: width() - RIGHT, y1: base, y2: base }));
    const step = nice(Math.max(1, count / Math.max(2, width() / 90)));
    for (let frame = 0; frame < count; frame += step) chart.append(svg('text', { class: 'tick x', x: x(frame), y: height() - 3 }, String(frame)));
    const order = curves.map((_, i) => i).filter((i) => i !== store.get().skin).concat(store.get().skin);
    for (const i of order) {
      const curve = curves[i];
      if (curve?.[kind]) chart.append(svg('path', { class: `curve ${ink(i)}${i === store.get().skin ? ' chosen' : ''}`, d: path(curve[kind]!, most), 'data-skin': i }));
    }
    const own = current()?.[kind];
    if (own) {
      const frame = worstFrame();
      const y = TOP + (base - TOP) * (1 - Math.min(1, own[frame]! / most));
      const mark = svg('path', { class: `worst ${ink(store.get().skin)}`, d: `M${x(frame)} ${y - 2}l-5 -7h10z`, 'data-frame': frame });
      mark.append(svg('title', {}, `Worst frame: ${frame}`));
      mark.addEventListener('pointerdown', (event) => { event.stopPropagation(); goToWorst(); });
      chart.append(mark);
    }
    chart.append(svg('line', { class: 'head', y1: 2, y2: base + 3 }), svg('circle', { class: 'head-dot', cy: base + 3, r: 3.2 }));
    moveHead();
  }

  function moveHead() {
    const { frame } = store.get();
    const at = x(frame);
    const head = chart.querySelector('.head');
    head?.setAttribute('x1', String(at));
    head?.setAttribute('x2', String(at));
    chart.querySelector('.head-dot')?.setAttribute('cx', String(at));
    chart.setAttribute('aria-valuenow', String(frame));
    chart.setAttribute('aria-valuemax', String(Math.max(0, frames() - 1)));
    place.replaceChildren(el('b', {}, String(frame)), ` / ${Math.max(0, frames() - 1)}`);
    const curve = current();
    holder.classList.toggle('untrue', session.pose.pulled);
    figures.textContent = session.pose.pulled ? 'pose changed: no truth, so no error' : (['rms', 'max'] as const).flatMap((one) => (curve?.[one] ? [`${one} ${short(curve[one][frame] ?? NaN)}`] : [])).join(' · ');
    worst.hidden = !curve;
    kinds.group.hidden = !(curve?.rms && curve.max);
  }

  // One skin after another, the chosen one first: measuring takes the server a while.
  async function fetchCurves() {
    const turn = ++asked;
    const { clip, skin } = store.get();
    const all = session.measured(clip);
    curves = [];
    draw();
    await session.pictured(); // which needs the same processor
    if (turn !== asked) return;
    for (const i of [skin, ...all.keys()]) {
      if (curves[i] !== undefined || !all[i]?.errors) continue;
      const curve = await all[i]!.errors!().catch((thrown) => { session.problem(thrown); return null; });
      if (turn !== asked) return;
      curves[i] = curve;
      if (curve && !curve[kind]) kind = kind === 'rms' ? 'max' : 'rms';
      kinds.update();
      draw();
    }
  }

  function listClips() {
    clips.replaceChildren(...session.clips().map(({ name, frames: count, truth }, i) => el('option', { value: String(i) }, `${name} (${count}${truth ? '' : ', no truth'})`)));
    clips.value = String(store.get().clip);
    void fetchCurves();
  }

  function showTip(event: PointerEvent) {
    const { left } = track.getBoundingClientRect();
    const frame = frameAt(event.clientX - left);
    const rows = curves.flatMap((curve, i) => curve?.[kind] ? [el('div', {}, el('i', { className: `swatch ${ink(i)}` }), el('span', {}, session.measured(store.get().clip)[i]?.name ?? ''), el('b', { className: 'number' }, short(curve[kind]![frame] ?? NaN)))] : []);
    tip.replaceChildren(el('div', { className: 'tip-head' }, `frame ${frame}`), ...rows);
    tip.hidden = false;
    tip.style.left = `${Math.min(width() - tip.offsetWidth - 4, Math.max(4, x(frame) + 10))}px`;
  }

  const seek = (event: PointerEvent) => store.set({ frame: frameAt(event.clientX - track.getBoundingClientRect().left), playing: false });
  chart.addEventListener('pointerdown', (event) => { chart.setPointerCapture(event.pointerId); seek(event); });
  chart.addEventListener('pointermove', (event) => { if (chart.hasPointerCapture(event.pointerId)) seek(event); showTip(event); });
  chart.addEventListener('pointerleave', () => { tip.hidden = true; });
  new ResizeObserver(draw).observe(track);
  store.watch(['frame'], moveHead);
  session.on('pose', moveHead);
  store.watch(['skin'], () => (curves[store.get().skin] === undefined ? void fetchCurves() : draw()));
  store.watch(['clip'], () => { clips.value = String(store.get().clip); void fetchCurves(); });
  store.watch(['playing'], ({ playing }) => {
    play.replaceChildren(icon(playing ? 'pause' : 'play'));
    play.setAttribute('aria-label', playing ? 'Pause' : 'Play');
  });
  play.replaceChildren(icon('play'));
  session.on('subject', listClips);
  session.on('shown', listClips);
  store.watch(['subject'], listClips);
  listClips();
  return { holder, goToWorst };
}
