// diagnosis.ts: what looks wrong with a character and its examples, and buttons for what can be mended.

import type { App } from '../app';
import { el, section } from '../dom';
import type { Character, Diagnosis } from '../show';

const WORDS = { fatal: 'Wrong', warning: 'Doubtful', note: 'Note' } as const;

export class Findings {
  readonly element: HTMLElement;
  private readonly list = el('ul', { className: 'findings', aria: { live: 'polite' } });
  private readonly mend = el('button', { type: 'button', className: 'tiny primary', hidden: true, title: 'Reopens the character with the axes, scale, offset, frames and order of its caches corrected and bad examples left out (--fix)', on: { click: () => void this.fix() } }, 'Fix it');
  private character: Character | null = null;
  private index = -1;

  constructor(private readonly app: App) {
    this.element = section('Diagnosis', this.list, el('div', { className: 'buttons' }, this.mend));
  }

  async show(character: Character | null, index: number): Promise<void> {
    this.character = character;
    this.index = index;
    this.element.hidden = !character?.diagnosis;
    this.mend.hidden = true;
    if (!character?.diagnosis) return;
    this.list.replaceChildren(el('li', { className: 'quiet' }, 'Checking the examples …'));
    try {
      const { findings } = await this.app.data.json<Diagnosis>(character.diagnosis);
      if (this.character === character) this.write(findings);
    } catch (thrown) {
      if (this.character === character) this.list.replaceChildren(el('li', { className: 'fatal' }, thrown instanceof Error ? thrown.message : String(thrown)));
    }
  }

  private write(findings: Diagnosis['findings']) {
    this.list.replaceChildren(...findings.map(({ severity, text }) => el('li', { className: severity }, el('b', {}, WORDS[severity]), ` ${text}`)));
    if (!findings.length) this.list.replaceChildren(el('li', { className: 'quiet' }, this.character?.fix ? 'Everything looks right now: the caches were corrected.' : 'Everything looks right.'));
    this.mend.hidden = !findings.some(({ fix }) => fix);
  }

  private async fix() {
    this.mend.disabled = true;
    try {
      const { character } = await this.app.data.post<{ character: number }>('api/fix', { character: this.index });
      await this.app.refresh();
      const at = this.app.subjects().findIndex((subject) => subject.kind === 'character' && subject.index === character);
      this.app.store.set({ subject: at });
      this.app.say('The character was reopened with its caches corrected; fits of it use --fix.');
    } catch (thrown) {
      this.app.problem(thrown);
    }
    this.mend.disabled = false;
  }
}
