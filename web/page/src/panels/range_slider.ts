// range_slider.ts: a slider whose track shows the values seen in training, with a field for exact numbers.

import { el } from '../dom';

export interface RangeSlider {
  row: HTMLElement;
  input: HTMLInputElement;
  field: HTMLInputElement;
  set(value: number): void;
  /** The range seen, and the range of the slider; the field accepts anything up to `limit`. */
  shows(seen: { least: number; most: number }, span: { least: number; most: number }): void;
}

export function rangeSlider(name: string, unit: string, step: number, limit: { least: number; most: number }, change: (value: number) => void): RangeSlider {
  let seen = { least: 0, most: 0 };
  const input = el('input', { type: 'range', step: 'any', aria: { label: `${name}${unit && `, ${unit}`}` } });
  const field = el('input', { type: 'number', className: 'exact', step: String(step), min: String(limit.least), max: String(limit.most), aria: { label: `${name}, exact` } });
  const row = el('div', { className: 'range-row' }, el('span', { className: 'range-name' }, name), input, field, el('span', { className: 'range-unit' }, unit));
  const mark = (value: number) => row.classList.toggle('beyond', value > seen.most + 0.1 * step || value < seen.least - 0.1 * step);
  const set = (value: number) => {
    const typed = Math.min(Math.max(field.valueAsNumber, limit.least), limit.most);
    const typing = document.activeElement === field && !(Math.abs(typed - value) > (step < 0.1 ? 6e-4 : 0.06)); // NaN: an empty field
    if (!typing) field.value = String(Number(value.toFixed(step < 0.1 ? 3 : 1)));
    input.value = String(value);
    mark(value);
  };
  const take = (value: number) => {
    if (!Number.isFinite(value)) return;
    const allowed = Math.min(Math.max(value, limit.least), limit.most);
    set(allowed);
    change(allowed);
  };
  input.addEventListener('input', () => take(input.valueAsNumber));
  input.addEventListener('keydown', (event) => {
    const steps = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 10, PageDown: -10 }[event.key];
    if (!steps) return;
    event.preventDefault();
    event.stopPropagation();
    take(input.valueAsNumber + steps * step);
  });
  field.addEventListener('input', () => take(field.valueAsNumber));
  field.addEventListener('keydown', (event) => event.stopPropagation());
  return {
    row, input, field, set,
    shows(newSeen, span) {
      seen = newSeen;
      input.min = String(span.least);
      input.max = String(span.most);
      const share = (value: number) => (100 * (value - span.least)) / (span.most - span.least || 1);
      row.style.setProperty('--seen-from', `${share(seen.least) - 0.5}%`); // an empty range shows as a mark
      row.style.setProperty('--seen-to', `${share(seen.most) + 0.5}%`);
      input.title = `seen: ${seen.least.toFixed(step < 0.1 ? 2 : 0)} to ${seen.most.toFixed(step < 0.1 ? 2 : 0)} ${unit}`;
    },
  };
}
