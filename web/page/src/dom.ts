// dom.ts: short helpers for elements. Text is always text: names come from untrusted files.

type Child = Node | string | null | undefined | false;
type Options<K extends keyof HTMLElementTagNameMap> = Partial<Omit<HTMLElementTagNameMap[K], 'style' | 'dataset'>> & {
  role?: string;
  aria?: Record<string, string>;
  data?: Record<string, string>;
  on?: Partial<{ [E in keyof HTMLElementEventMap]: (event: HTMLElementEventMap[E]) => void }>;
};

export function el<K extends keyof HTMLElementTagNameMap>(tag: K, options: Options<K> = {}, ...children: Child[]): HTMLElementTagNameMap[K] {
  const { aria = {}, data = {}, on = {}, role, ...properties } = options;
  const element = document.createElement(tag);
  Object.assign(element, properties);
  if (role) element.setAttribute('role', role);
  for (const [name, value] of Object.entries(aria)) element.setAttribute(`aria-${name}`, value);
  Object.assign(element.dataset, data);
  for (const [name, call] of Object.entries(on)) element.addEventListener(name, call as EventListener);
  element.append(...children.filter((child): child is Node | string => child !== null && child !== undefined && child !== false));
  return element;
}

export interface Choice<T extends string> {
  value: T;
  label: string;
  title?: string;
}

// A row of buttons, one of them pressed: a radio group for keyboard and screen readers.
export function segments<T extends string>(label: string, choices: Choice<T>[], chosen: () => T, choose: (value: T) => void) {
  const buttons = choices.map(({ value, label: text, title }) =>
    el('button', { type: 'button', className: 'segment', role: 'radio', title: title ?? '', data: { value }, on: { click: () => choose(value) } }, text));
  const group = el('div', { className: 'segments', role: 'radiogroup', aria: { label } }, ...buttons);
  group.addEventListener('keydown', (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    const at = buttons.indexOf(event.target as HTMLButtonElement);
    if (!step || at < 0) return;
    event.preventDefault();
    event.stopPropagation();
    for (let i = at + step; buttons[i]; i += step) {
      if (buttons[i]!.disabled) continue;
      buttons[i]!.focus();
      buttons[i]!.click();
      return;
    }
  });
  const update = () => {
    for (const button of buttons) {
      const on = button.dataset.value === chosen();
      button.setAttribute('aria-checked', String(on));
      button.tabIndex = on ? 0 : -1;
    }
  };
  update();
  return { group, update, buttons };
}

export interface Slider {
  row: HTMLElement;
  input: HTMLInputElement;
  set(value: number): void;
}

// A slider with its label and value.
export function slider(label: string, range: { least: number; most: number; step?: number }, value: number,
  change: (value: number) => void, text: (value: number) => string = (number) => number.toPrecision(3)): Slider {
  const input = el('input', { type: 'range', min: String(range.least), max: String(range.most), step: String(range.step ?? 'any'), aria: { label } });
  const shown = el('output', { className: 'number' });
  const set = (number: number) => {
    input.value = String(number);
    shown.textContent = text(number);
  };
  input.addEventListener('input', () => {
    shown.textContent = text(input.valueAsNumber);
    change(input.valueAsNumber);
  });
  set(value);
  return { row: el('label', { className: 'slider' }, el('span', { className: 'slider-name' }, label), input, shown), input, set };
}

export function toggle(label: string, chosen: () => boolean, choose: (on: boolean) => void, title = '') {
  const input = el('input', { type: 'checkbox', on: { change: () => choose(input.checked) } });
  const update = () => { input.checked = chosen(); };
  update();
  return { row: el('label', { className: 'toggle', title }, input, el('span', { className: 'toggle-mark' }), label), update, input };
}

export const section = (title: string, ...children: Child[]) =>
  el('section', { className: 'section' }, el('h3', {}, title), ...children);
