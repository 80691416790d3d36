// side.ts: the panels, one at a time, behind tabs.

import type { Panel } from './app';
import type { Session } from './session';
import { el } from './dom';

export function sidePanels(session: Session, panels: Panel[]) {
  const { store } = session;
  const mounted = new Map<string, { element: HTMLElement; hooks: { shown?(): void; hidden?(): void } }>();
  const bar = el('div', { className: 'tabs', role: 'tablist', aria: { label: 'Panels' } });
  const body = el('div', { className: 'panel-body' });
  const tabs = panels.map((panel) => el('button', {
    type: 'button', role: 'tab', id: `tab-${panel.id}`, aria: { controls: `panel-${panel.id}` }, title: panel.key ? `${panel.title} (${panel.key.toUpperCase()})` : panel.title,
    on: { click: () => store.set({ panel: panel.id }) },
  }, panel.title));
  bar.append(...tabs);

  function open(panel: Panel) {
    const known = mounted.get(panel.id);
    if (known) return known;
    const element = el('div', { className: `panel panel-${panel.id}`, id: `panel-${panel.id}`, role: 'tabpanel', tabIndex: 0, aria: { labelledby: `tab-${panel.id}` } }, // it scrolls, so keys must get there
      el('h2', { className: 'unseen' }, panel.title));
    body.append(element);
    const made = { element, hooks: panel.mount(element, session) ?? {} };
    mounted.set(panel.id, made);
    return made;
  }

  let now: string | null = null;
  function update() {
    const offered = panels.filter((panel) => panel.suits?.(session.subject(), session) ?? true);
    tabs.forEach((tab, i) => { tab.hidden = !offered.includes(panels[i]!); });
    const chosen = offered.find(({ id }) => id === store.get().panel) ?? offered[0];
    if (!chosen) return;
    tabs.forEach((tab, i) => {
      const on = panels[i] === chosen;
      tab.setAttribute('aria-selected', String(on));
      tab.tabIndex = on ? 0 : -1;
    });
    if (chosen.id === now) return;
    if (now) mounted.get(now)?.hooks.hidden?.();
    now = chosen.id;
    const { hooks } = open(chosen);
    for (const [id, { element }] of mounted) element.hidden = id !== chosen.id;
    hooks.shown?.();
  }

  bar.addEventListener('keydown', (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const there = tabs.filter((tab) => !tab.hidden);
    const next = there[there.indexOf(event.target as HTMLButtonElement) + (step ?? 0)];
    if (!step || !next) return;
    event.preventDefault();
    event.stopPropagation();
    next.focus();
    next.click();
  });
  store.watch(['panel', 'subject'], update);
  session.on('subject', update);
  session.on('shown', update);
  update();
  return el('div', { className: 'panels' }, bar, body);
}
