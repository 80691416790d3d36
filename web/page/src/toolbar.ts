// toolbar.ts: view options, and the legend of the heat map.

import type { Session } from './session';
import type { Layout, Shading } from './store';
import { el, segments, toggle } from './dom';
import { HEAT_BEYOND, HEAT_STOPS } from './surface';
import { short } from './heat';
import { cameraBar } from './camera_bar';
import { undoButtons } from './undo';

export const LAYOUTS: { value: Layout; label: string; title: string }[] = [
  { value: 'side', label: 'Side by side', title: 'Truth, model and difference, with one camera' },
  { value: 'overlay', label: 'Overlay', title: 'Truth in blue under the model in orange: they show colour where they differ' },
  { value: 'wipe', label: 'Wipe', title: 'Truth on the left of a movable line, model on the right' },
  { value: 'model', label: 'Model', title: 'The model alone' },
  { value: 'skins', label: 'A | B', title: 'Two skins side by side, with the truth where there is one' },
];

// What can be shown of this character at all; and what of it now, because another clip or pose may have a truth.
const offered = (session: Session, layout: Layout) =>
  layout === 'model' || (layout === 'skins' ? (session.character()?.skins.length ?? 0) > 1 : session.hasTruth());
export const possible = (session: Session) =>
  LAYOUTS.map(({ value }) => value).filter((value) => offered(session, value) && (value === 'model' || value === 'skins' || session.stage.truth !== null));

export const SHADINGS: { value: Shading; label: string; title: string }[] = [
  { value: 'clay', label: 'Clay', title: 'Plain shading' },
  { value: 'textures', label: 'Textures', title: "The character's own textures" },
  { value: 'normals', label: 'Normals', title: 'Colours by the direction of the normals' },
];

export function toolbar(session: Session, share: HTMLElement) {
  const { store } = session;
  const shown = () => (possible(session).includes(store.get().layout) ? store.get().layout : 'model');
  const layout = segments('Arrangement', LAYOUTS, shown, (value) => store.set({ layout: value }));
  const second = el('select', { aria: { label: 'The second skin' }, on: { change: () => store.set({ other: Number(second.value) }) } });
  const pairing = el('label', { className: 'mixing' }, el('span', {}, 'B'), second);
  const shading = segments('Shading', SHADINGS, () => store.get().shading, (value) => store.set({ shading: value }));
  const wires = toggle('Wires', () => store.get().wireframe, (wireframe) => store.set({ wireframe }), 'Edges of the triangles (X)');
  const heat = toggle('Heat', () => store.get().difference, (difference) => store.set({ difference }), 'Distance from the truth on the model (H)');
  const blend = el('input', {
    type: 'range', min: '0', max: '1', step: '0.01', className: 'blend', title: 'From truth to model', aria: { label: 'From truth to model' },
    on: { input: () => store.set({ blend: blend.valueAsNumber }) },
  });
  const mixing = el('label', { className: 'mixing' }, el('span', { className: 'truth-ink' }, 'truth'), blend, el('span', { className: 'model-ink' }, 'model'));
  const level = el('input', {
    type: 'range', min: '0', step: '0.01', title: 'Level of detail: fewer displacements, then none, then fewer joints', aria: { label: 'Level of detail' },
    on: { input: () => store.set({ level: level.valueAsNumber }) },
  });
  const levelText = el('span', { className: 'number' });
  const detail = el('label', { className: 'mixing' }, el('span', {}, 'Level'), level, levelText);
  const update = () => {
    bar.hidden = session.subject()?.kind === 'light'; // nothing here means anything for a picture
    for (const part of [layout, shading, wires, heat]) part.update();
    const skins = session.character()?.skins ?? [];
    second.replaceChildren(...skins.flatMap(({ name }, i) => (i === store.get().skin ? [] : [el('option', { value: String(i) }, name)])));
    second.value = String(skins.indexOf(session.otherNow()!));
    pairing.hidden = session.stage.arrangement !== 'skins';
    blend.value = String(store.get().blend);
    mixing.hidden = session.stage.arrangement !== 'overlay';
    const levels = session.skin()?.levelCount ?? 0;
    detail.hidden = levels < 2;
    level.max = String(Math.max(1, levels - 1));
    level.value = String(store.get().level);
    levelText.textContent = level.valueAsNumber.toFixed(1);
    heat.row.hidden = session.stage.arrangement === 'side' || !session.hasTruth();
    heat.input.disabled = !session.stage.truth;
    const textures = shading.buttons[1]!;
    textures.disabled = !session.character()?.surface;
    for (const button of layout.buttons) {
      button.hidden = !offered(session, button.dataset.value as Layout);
      button.disabled = !possible(session).includes(button.dataset.value as Layout);
    }
    layout.group.hidden = layout.buttons.filter(({ hidden }) => !hidden).length < 2;
  };
  store.watch(['layout', 'shading', 'wireframe', 'difference', 'blend', 'level', 'subject', 'skin', 'other'], update);
  session.stage.element.addEventListener('arranged', update);
  session.on('subject', update);
  session.on('shown', update);
  session.on('skin', update);
  const bar = el('div', { className: 'toolbar', role: 'toolbar', aria: { label: 'View' } },
    layout.group, mixing, pairing, detail, shading.group, wires.row, heat.row,
    el('div', { className: 'tools' }, ...undoButtons(session), el('span', { className: 'rule' }), ...cameraBar(session), share));
  update();
  return bar;
}

// Colours against lengths. The top can be edited, or is chosen automatically.
export function legend(session: Session) {
  const { store } = session;
  const bar = el('canvas', { className: 'legend-bar', width: 256, height: 1, aria: { hidden: 'true' } });
  const paint = bar.getContext('2d')!;
  const ramp = paint.createLinearGradient(0, 0, 240, 0);
  HEAT_STOPS.forEach((hex, i) => ramp.addColorStop(i / (HEAT_STOPS.length - 1), hex));
  paint.fillStyle = ramp;
  paint.fillRect(0, 0, 240, 1);
  paint.fillStyle = HEAT_BEYOND;
  paint.fillRect(240, 0, 16, 1);
  const ticks = ['0', ''].map((text) => el('span', {}, text));
  const top = el('input', {
    type: 'text', inputMode: 'decimal', className: 'legend-top', spellcheck: false, title: "Top of the scale, in the file's unit of length",
    aria: { label: "Top of the heat map's scale, in the file's unit of length" },
  });
  const take = () => {
    const value = Number(top.value.replace(',', '.').replace('−', '-'));
    if (value > 0 && Number.isFinite(value)) store.set({ scale: value });
    else session.say('The top of the scale must be a length above 0.', 'problem');
    update();
  };
  top.addEventListener('change', take);
  top.addEventListener('keydown', (event) => {
    event.stopPropagation();
    const factor = { ArrowUp: 1.1, ArrowDown: 1 / 1.1 }[event.key];
    if (event.key === 'Enter') top.blur();
    if (!factor) return;
    event.preventDefault();
    store.set({ scale: Number((session.scale() * factor).toPrecision(3)) });
  });
  const auto = el('button', { type: 'button', className: 'tiny', title: 'Fit the scale to the skins of this character', on: { click: () => store.set({ scale: null }) } }, 'auto');
  const holder = el('div', { className: 'legend', role: 'group', aria: { label: 'Scale of the heat map' } },
    el('div', { className: 'legend-title' }, 'Distance from the truth', auto),
    bar,
    el('div', { className: 'legend-ticks' }, ...ticks, top));
  const update = () => {
    const scale = session.scale();
    ticks[1]!.textContent = short(scale / 2);
    if (document.activeElement !== top) top.value = short(scale).replace('−', '-');
    auto.setAttribute('aria-pressed', String(store.get().scale === null));
    holder.hidden = !(session.stage.truth && (session.stage.arrangement === 'side' || (store.get().difference && session.stage.arrangement !== 'truth')));
  };
  store.watch(['scale', 'difference', 'subject'], update);
  session.on('figures', update);
  session.stage.element.addEventListener('arranged', update);
  update();
  return holder;
}
