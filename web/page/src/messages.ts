// messages.ts: messages for the user, in a corner, and what the page is waiting for.

import type { Session } from './session';
import { el } from './dom';
import { icon } from './icons';

const MOST = 4;

export function messages(session: Session) {
  const list = el('div', { className: 'messages', role: 'log', aria: { live: 'polite', label: 'Messages' } });
  const waiting = el('div', { className: 'waiting-line', role: 'status', hidden: true });
  session.on('message', ({ sentence, kind }) => {
    const same = [...list.children].find((child) => child.querySelector('p')?.textContent === sentence);
    same?.remove();
    const message = el('div', { className: `message ${kind}`, role: kind === 'problem' ? 'alert' : 'status' }, el('p', {}, sentence),
      el('button', { type: 'button', className: 'plain', aria: { label: 'Dismiss' }, on: { click: () => message.remove() } }, icon('close')));
    list.append(message);
    while (list.children.length > MOST) list.firstChild!.remove();
    if (kind === 'note') setTimeout(() => message.remove(), 6000);
  });
  let timer = 0;
  session.on('loading', ({ what }) => {
    clearTimeout(timer);
    waiting.hidden = true;
    if (what) timer = window.setTimeout(() => { waiting.textContent = `${what} …`; waiting.hidden = false; }, 250); // quick tasks need no message
  });
  return [list, waiting];
}
