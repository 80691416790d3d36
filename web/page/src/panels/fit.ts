// fit.ts: fits a skin from the page: drop a bundle, choose clips and a method, and the server does what `pelt fit` does
// with the same arguments.

import type { App, Panel } from '../app';
import { numbered } from '../data';
import { el, section } from '../dom';
import { download } from '../download';
import { gather } from '../gather';
import { beginFit, followJob, wait, type Job } from '../jobs';
import { fitted } from '../skin_actions';
import { sendFiles } from '../upload';
import type { Character, Errors, Skin } from '../show';
import './panels.css';
import { Findings } from './diagnosis';
import { BLENDS, commandLine, CORRECTIVES, isUsed, METHODS, OPTIONS, wordsOf, type Form } from './fit_words';

const COMMON = ['every', 'mirror', 'holdout', 'normals']; // of options, what all methods take

class Fitting {
  private readonly drop: HTMLElement;
  private readonly form: Form = { train: [], method: 'kernel', blend: '', corrective: '', values: {}, more: '' };
  private test: string[] = [];
  private name = '';
  private readonly clips = el('div', { className: 'clip-choice', role: 'table', aria: { label: 'Clips to train and to test on' } });
  private readonly methods = el('div', { className: 'methods', role: 'radiogroup', aria: { label: 'method' } });
  private readonly budget: HTMLElement;
  private readonly findings: Findings;
  private readonly options = el('div', { className: 'fit-options' });
  private readonly command = el('code', { className: 'command' });
  private readonly press: HTMLButtonElement;
  private readonly every: HTMLButtonElement;
  private readonly stop: HTMLButtonElement;
  private readonly bar = el('progress', { max: 1, hidden: true, aria: { label: 'progress of the fit' } });
  private readonly doing = el('p', { className: 'quiet doing', aria: { live: 'polite' } });
  private readonly problem = el('p', { className: 'problem', role: 'alert', hidden: true });
  private readonly result = el('div', { className: 'fit-result' });
  private readonly rest: HTMLElement;
  private readonly foot: HTMLElement;
  private readonly nameField: HTMLInputElement;
  private character: Character | null = null;
  private index = -1; // the server's index of the character
  private job = -1;
  private all: number[] = []; // those that are compared
  private cancelling = false;
  private wake: () => void = () => {}; // ends a pause between two looks at the job

  constructor(element: HTMLElement, private readonly app: App) {
    const chooser = el('input', { type: 'file', multiple: true, className: 'file-input', on: { change: () => void this.send([...(chooser.files ?? [])]) }, aria: { label: 'files of a bundle' } });
    this.drop = el('label', { className: 'drop' }, chooser, el('b', {}, 'Drop a bundle here'), el('span', { className: 'quiet' }, 'a .glb with its caches (.pc2, .mdd, .npy, .csv), or choose files'));
    this.nameField = el('input', { type: 'text', className: 'text', placeholder: 'kernel', maxLength: 60, aria: { label: 'name of the skin' }, on: { input: () => { this.name = this.nameField.value.trim(); this.showCommand(); }, keydown: (event) => event.stopPropagation() } });
    const more = el('input', { type: 'text', className: 'text', placeholder: '--control-scale tension=2', spellcheck: false, aria: { label: 'further options' }, on: { input: () => { this.form.more = more.value; this.showCommand(); }, keydown: (event) => event.stopPropagation() } });
    const limits = el('input', { type: 'text', className: 'text', placeholder: '500 kB, 1 mm', spellcheck: false, aria: { label: 'budget' }, on: { input: () => { this.form.budget = limits.value; this.showCommand(); }, keydown: (event) => event.stopPropagation() } });
    this.budget = el('label', { className: 'field', title: 'any of: bytes, kB, MB; us, ms per frame; mm, cm, m or % of the diagonal' }, el('span', {}, 'within a budget'), limits);
    this.findings = new Findings(app);
    this.press = el('button', { type: 'button', className: 'tiny primary', on: { click: () => void this.fit() } }, 'Fit');
    this.every = el('button', { type: 'button', className: 'tiny', title: 'Fit one skin per method, to compare in the table', on: { click: () => void this.compare() } }, 'Fit all methods');
    this.stop = el('button', { type: 'button', className: 'tiny', hidden: true, on: { click: () => void this.cancel() } }, 'Cancel');
    const copy = el('button', { type: 'button', className: 'chip', title: 'Copy the command line', on: { click: () => void this.copy() } }, 'Copy');
    this.rest = el('div', {},
      this.findings.element, section('Clips', this.clips), section('Method', this.methods, this.budget),
      el('details', { className: 'more-options' }, el('summary', {}, 'Options'), this.options, el('label', { className: 'field' }, el('span', {}, 'further options'), more)),
      el('label', { className: 'field' }, el('span', {}, 'name of the skin'), this.nameField),
      section('The same on the command line', el('div', { className: 'command-box' }, this.command, copy)),
      this.result);
    this.foot = el('div', { className: 'fit-foot' }, this.problem, this.bar, this.doing, el('div', { className: 'buttons' }, this.press, this.every, this.stop));
    element.classList.add('fit');
    element.append(this.drop, this.rest, this.foot);
    app.on('subject', () => this.begin());
    app.on('shown', () => this.begin());
    this.begin();
  }

  private get suits(): boolean {
    return this.app.server && this.app.can.fit;
  }

  private begin(): void {
    const subject = this.app.subject();
    const character = subject?.kind === 'character' ? subject.character : null;
    if (!this.suits) this.say('Fitting needs the server: run `pelt view BUNDLE` instead of opening an export, or export with --with-fit.', 'quiet');
    this.drop.hidden = !this.suits;
    if (this.suits && this.app.local && character && !character.file) this.say('Drop the files of this character here to fit it.', 'quiet');
    else if (this.suits && this.problem.className === 'quiet') this.say('');
    this.press.hidden = this.every.hidden = this.rest.hidden = !this.suits || !character?.file || !character.clips.length;
    this.form.fix = character?.fix ?? false;
    const again = subject?.index === this.index && character?.file === this.character?.file; // the list was reloaded
    this.character = character;
    this.index = subject?.index ?? -1;
    if (again) return;
    this.result.replaceChildren();
    this.drop.scrollIntoView?.({ block: 'nearest' });
    void this.findings.show(this.suits ? character : null, this.index);
    const known = character?.clips.filter((clip) => clip.truth) ?? [];
    this.form.train = known.filter((clip) => /train/i.test(clip.name)).map((clip) => clip.name);
    if (!this.form.train.length && known[0]) this.form.train = [known[0].name];
    this.test = known.filter((clip) => !this.form.train.includes(clip.name)).map((clip) => clip.name);
    this.showClips();
    this.showMethods();
    this.showOptions();
  }

  // -- The form -----------------------------------------------------------------------------------------------------

  private showClips(): void {
    const cell = (options: { className?: string }, ...children: (HTMLElement | string)[]) => el('span', { role: 'cell', ...options }, ...children);
    const head = (text: string) => el('span', { role: 'columnheader' }, text);
    const box = (name: string, list: () => string[], set: (names: string[]) => void, what: string) => {
      const input = el('input', { type: 'checkbox', checked: list().includes(name), aria: { label: `${what} ${name}` }, on: { change: () => {
        set(input.checked ? [...list(), name] : list().filter((other) => other !== name));
        this.showCommand();
      } } });
      return cell({}, el('label', { className: 'tick-box' }, input));
    };
    const order = (names: string[]) => this.character!.clips.map((clip) => clip.name).filter((name) => names.includes(name));
    const rows = (this.character?.clips ?? []).map((clip) => el('div', { className: 'clip-row', role: 'row' },
      cell({ className: 'clip-name' }, clip.name), cell({ className: 'quiet' }, clip.truth ? `${clip.frames}` : `${clip.frames}, no truth`),
      clip.truth ? box(clip.name, () => this.form.train, (names) => { this.form.train = order(names); }, 'train on') : cell({}),
      clip.truth ? box(clip.name, () => this.test, (names) => { this.test = order(names); }, 'test on') : cell({})));
    this.clips.replaceChildren(el('div', { className: 'clip-row clip-head quiet', role: 'row' }, head('clip'), head('examples'), head('train'), head('test')), ...rows);
  }

  private showMethods(): void {
    const buttons = Object.entries(METHODS).map(([method, { text }]) =>
      el('label', { className: 'method' }, el('input', { type: 'radio', name: 'method', value: method, checked: method === this.form.method, on: { change: () => {
        this.form.method = method;
        if (!method) this.form.blend = this.form.corrective = '';
        this.showOptions();
      } } }), el('b', {}, method || 'best'), el('span', { className: 'quiet' }, text)));
    this.methods.replaceChildren(...buttons);
  }

  private showOptions(): void {
    const select = (label: string, choices: string[], otherwise: string, value: string, change: (value: string) => void) =>
      el('select', { className: 'select', aria: { label }, on: { change: (event) => change((event.target as HTMLSelectElement).value) } },
        el('option', { value: '', selected: !value }, otherwise), ...choices.map((choice) => el('option', { value: choice, selected: choice === value }, choice)));
    const field = (name: string, text: string, input: HTMLElement) => el('label', { className: 'field', title: text }, el('span', {}, name), input);
    const preset = METHODS[this.form.method];
    this.budget.hidden = this.form.method !== '';
    const rows = OPTIONS.filter((option) => isUsed(option, this.form)).map((option) => {
      const value = this.form.values[option.flag] ?? '';
      const change = (to: string) => { this.form.values[option.flag] = to; this.showCommand(); };
      const input = option.kind === 'choice' ? select(option.flag, option.choices!, 'default', value, change)
        : option.kind === 'switch' ? el('input', { type: 'checkbox', checked: value !== '', on: { change: (event) => change((event.target as HTMLInputElement).checked ? 'on' : '') } })
          : el('input', { type: 'text', className: 'text', value, placeholder: option.kind === 'names' ? 'NAME,…' : 'default', inputMode: option.kind === 'number' ? 'decimal' : 'text', spellcheck: false, on: { input: (event) => change((event.target as HTMLInputElement).value), keydown: (event) => event.stopPropagation() } });
      return field(`--${option.flag}`, option.text, input);
    });
    const parts = this.form.method ? [
      field('--blend', 'where blend weights come from', select('blend', BLENDS, `${preset.blend} (${this.form.method})`, this.form.blend, (value) => { this.form.blend = value; this.showOptions(); })),
      field('--corrective', 'what displaces the rest pose before blending', select('corrective', CORRECTIVES, `${preset.corrective} (${this.form.method})`, this.form.corrective, (value) => { this.form.corrective = value; this.showOptions(); })),
    ] : [];
    this.options.replaceChildren(...parts, ...rows);
    this.nameField.placeholder = this.form.method || 'best';
    this.showCommand();
  }

  private showCommand(): void {
    const file = this.character?.file ?? 'BUNDLE.glb';
    const skin = `${this.name || this.form.method || 'best'}.pelt`;
    const lines = [commandLine(['pelt', 'fit', file, ...wordsOf(this.form), '-o', skin])];
    for (const clip of this.test) lines.push(commandLine(['pelt', 'measure', skin, file, '--clip', clip]));
    this.command.textContent = lines.join('\n');
  }

  private async copy(): Promise<void> {
    try {
      await navigator.clipboard.writeText(this.command.textContent ?? '');
      this.app.say('The command line was copied to the clipboard.');
    } catch {
      getSelection()?.selectAllChildren(this.command);
      this.app.say('The browser blocks the clipboard. The command line is selected: copy it by hand.');
    }
  }

  // -- The fit ------------------------------------------------------------------------------------------------------

  private say(sentence: string, kind: 'problem' | 'quiet' = 'problem'): void {
    this.problem.textContent = sentence;
    this.problem.hidden = !sentence;
    this.problem.className = kind;
  }

  private busy(on: boolean): void {
    this.press.disabled = this.every.disabled = on;
    if (this.cancelling) this.press.focus(); // the button that had it goes away
    this.stop.hidden = this.bar.hidden = !on;
    this.stopping(false);
    if (on) this.bar.value = 0;
    else this.doing.textContent = '';
  }

  private stopping(on: boolean): void {
    this.cancelling = this.stop.disabled = on;
    if (on) this.doing.textContent = 'Cancelling…';
  }

  private async fit(): Promise<void> {
    const subject = this.app.subject();
    if (subject?.kind !== 'character' || this.job >= 0) return;
    this.say('');
    this.busy(true);
    try {
      const name = this.name || this.form.method || 'best';
      this.job = await beginFit(this.app, subject.index, wordsOf(this.form), name);
      if (this.cancelling) void this.cancel(); // before it had a number
      await this.follow(this.job);
    } catch (thrown) {
      this.say(thrown instanceof Error ? thrown.message : String(thrown));
    }
    this.job = -1;
    this.busy(false);
  }

  // A skin by each method, those that are given their own options first; what fails is told, and the others go on.
  private async compare(): Promise<void> {
    const subject = this.app.subject();
    if (subject?.kind !== 'character' || this.job >= 0) return;
    this.say('');
    this.busy(true);
    const methods = Object.keys(METHODS).filter(Boolean).reverse();
    const words = (method: string) => wordsOf({ ...this.form, method, blend: '', corrective: '', values: Object.fromEntries(Object.entries(this.form.values).filter(([flag]) => COMMON.includes(flag))) });
    const problems: string[] = [];
    try {
      const jobs: number[] = [];
      for (const method of methods) jobs.push(await beginFit(this.app, subject.index, words(method), method));
      this.all = jobs;
      for (const [i, job] of jobs.entries()) {
        this.job = job;
        await this.follow(job, `${methods[i]}, ${i + 1} of ${jobs.length}: `).catch((thrown) => { problems.push(`${methods[i]}: ${thrown instanceof Error ? thrown.message : thrown}`); });
        if (this.cancelling) break;
      }
    } catch (thrown) {
      problems.push(thrown instanceof Error ? thrown.message : String(thrown));
    }
    if (problems.length) this.say(problems.join(' '));
    this.all = [];
    this.job = -1;
    this.busy(false);
  }

  private async follow(number: number, about = ''): Promise<void> {
    const job = await followJob(this.app, number, ({ share, text }) => {
      this.bar.value = Number.isFinite(share) ? share : 0;
      if (!this.cancelling) this.doing.textContent = `${about}${text || 'starting'} · ${Math.round(100 * (share || 0))}%`;
    }, (pause) => Promise.race([wait(this.cancelling ? Math.min(pause, 100) : pause), new Promise<void>((done) => { this.wake = done; })]));
    if (job.state === 'cancelled') this.say('The fit was cancelled.', 'quiet');
    else await this.finish(job);
  }

  private async cancel(): Promise<void> {
    this.stopping(true);
    try {
      for (const job of this.all.length ? this.all : this.job >= 0 ? [this.job] : []) await this.app.data.ask(`api/job/${job}`, { method: 'DELETE' });
      this.wake();
    } catch (thrown) {
      this.stopping(false);
      this.app.problem(thrown);
    }
  }

  /** Shows the result as a tab, and its error on the test clips here. */
  private async finish(job: Job): Promise<void> {
    await this.app.refresh();
    const at = this.app.subjects().findIndex((subject) => subject.kind === 'character' && subject.index === job.character);
    const subject = this.app.subjects()[at];
    if (subject?.kind !== 'character' || typeof job.skin !== 'number') return;
    const place = subject.character.skins.findIndex(({ index }) => index === job.skin);
    const skin = subject.character.skins[place];
    if (!skin) return;
    this.app.store.set({ subject: at, skin: place });
    this.showUnseen(subject.character);
    fitted(this.app, subject.index, skin);
    const rows = el('div', { className: 'measured' });
    const save = el('button', { type: 'button', className: 'tiny', on: { click: () => void this.save(skin) } }, `Save ${skin.name}.pelt`);
    const heading = el('h3', {}, `${skin.name} is fitted`);
    this.result.replaceChildren(heading, rows, el('div', { className: 'buttons' }, save));
    for (const clip of this.test) {
      const index = subject.character.clips.findIndex((one) => one.name === clip);
      if (!skin.errors || index < 0) continue;
      this.doing.textContent = `measures ${clip}`;
      const errors = await this.app.data.json<Errors>(numbered(skin.errors, index));
      const rms = Math.sqrt(errors.rms.reduce((sum, x) => sum + x * x, 0) / errors.rms.length);
      rows.append(el('span', { className: 'clip-name' }, clip), el('span', {}, `rms ${rms.toPrecision(3)}`), el('span', { className: 'quiet' }, `${((100 * rms) / subject.character.diagonal).toFixed(3)}% of the size, max ${Math.max(...errors.max).toPrecision(3)}`));
    }
    if (rows.childElementCount) heading.textContent += '; on the test clips:';
    this.result.scrollIntoView({ block: 'nearest' });
  }

  // Errors on what the skin was trained on flatter it: where the timeline is there, it goes to a clip to test on.
  private showUnseen(character: Character): void {
    const { clip } = this.app.store.get();
    const to = character.clips.findIndex(({ name }) => this.test.includes(name) && !this.form.train.includes(name));
    if (to < 0 || !this.form.train.includes(character.clips[clip]?.name ?? '')) return;
    this.app.store.set({ clip: to, frame: Math.floor(character.clips[to]!.frames / 2) });
  }

  private async save(skin: Skin): Promise<void> {
    try {
      download(new Blob([await this.app.data.bytes(skin.file)]), `${skin.name}.pelt`);
    } catch (thrown) {
      this.app.problem(thrown);
    }
  }

  // -- Files --------------------------------------------------------------------------------------------------------

  async send(files: File[]): Promise<void> {
    if (!files.length) return;
    this.say('');
    this.bar.hidden = false;
    try {
      await sendFiles(this.app, files, (share, text) => {
        this.bar.value = share;
        this.doing.textContent = text;
      });
    } catch (thrown) {
      this.say(thrown instanceof Error ? thrown.message : String(thrown));
    }
    this.bar.hidden = this.job < 0;
    if (this.job < 0) this.doing.textContent = '';
  }
}

export const fit: Panel = {
  id: 'fit',
  title: 'Fit',
  key: 'm',
  mount(element, app) {
    opened = new Fitting(element, app);
  },
};

let opened: Fitting | null = null;

/** Accepts files anywhere on the page: people drop where they look. While nothing is open the first screen has them. */
export function takeDrops(app: App, first: (files: File[]) => void): void {
  const suits = () => app.server && app.can.fit;
  addEventListener('dragover', (event) => {
    if (!suits() || !event.dataTransfer?.types.includes('Files')) return;
    event.preventDefault();
    document.body.classList.add('dropping');
  });
  addEventListener('dragleave', (event) => { if (!event.relatedTarget) document.body.classList.remove('dropping'); });
  addEventListener('drop', (event) => {
    document.body.classList.remove('dropping');
    if (!suits() || !event.dataTransfer?.types.includes('Files')) return;
    event.preventDefault();
    const open = app.subjects().length > 0;
    if (open) app.store.set({ panel: 'fit' });
    void gather(event.dataTransfer).then((files) => {
      if (!files.length) return;
      if (!open) return first(files);
      void opened?.send(files);
    }).catch((thrown) => app.problem(thrown));
  });
}
