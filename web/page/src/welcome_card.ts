// welcome_card.ts: the first screen, when nothing is open: files to drop or choose, characters made on the spot, and the
// commands that do the same, or, where the page fits itself, what it promises. It knows nothing of the viewer, so that a page
// without files shows it before the viewer is loaded.

import { el } from './dom';
import { download, fileName } from './download';
import { icon } from './icons';
import { allKept, discard, type Kept } from './local/kept';

export interface Sample { name: string; title: string; says: string; fits: { name: string; words: string[] }[] }

export type Told = (share: number, text: string) => void;

export interface Hands {
  take(files: File[], told: Told): Promise<void>;
  make(sample: Sample, told: Told): Promise<void>;
  say(sentence: string): void;
}

const train = ['--train', 'train', '--holdout', '0', '--method'];

export const SAMPLES: Sample[] = [
  { name: 'arm', title: 'Arm', says: 'Muscle, twist and crease, with a known truth', fits: [{ name: 'linear', words: [...train, 'ssd'] }, { name: 'kernel', words: [...train, 'kernel'] }] },
  { name: 'biceps', title: 'Biceps', says: 'An elbow whose muscle has a slider', fits: [{ name: 'linear', words: [...train, 'ssd'] }, { name: 'psd', words: [...train, 'psd'] }] },
  { name: 'humanoid', title: 'Humanoid', says: '53 joints to pull', fits: [{ name: 'linear', words: [...train, 'ssd'] }] },
];

export const COMMANDS = ['pelt sample arm -o .', 'pelt fit arm.glb --train train -o arm.pelt', 'pelt view arm.pelt arm.glb'];

const FILES = '.glb,.gltf,.bin,.pelt,.keys,.pc2,.mdd,.npy,.csv,.obj,.png,.jpg,.jpeg';

function commandList(say: Hands['say']) {
  const row = (text: string) => {
    const code = el('code', {}, text);
    const copy = el('button', { type: 'button', className: 'plain', title: 'Copy', aria: { label: `Copy: ${text}` }, on: { click: () => void take() } }, icon('copy'));
    async function take() {
      try {
        await navigator.clipboard.writeText(text);
        say('The command was copied to the clipboard.');
      } catch {
        getSelection()?.selectAllChildren(code);
        say('The browser blocks the clipboard. The command is selected: copy it by hand.');
      }
    }
    return el('li', {}, code, copy);
  };
  return el('ol', { className: 'commands' }, ...COMMANDS.map(row));
}

// Skins that were finished here before.
function keptList(list: HTMLElement, section: HTMLElement) {
  const row = (kept: Kept) => {
    const { name, file, when, bytes, number } = kept;
    const line = el('li', {}, el('span', {}, el('b', {}, name), ` of ${file}, ${new Date(when).toLocaleString()}`),
      el('span', { className: 'buttons' },
        el('button', { type: 'button', className: 'tiny', aria: { label: `Save ${name} of ${file}` }, on: { click: () => download(new Blob([bytes as BlobPart]), `${fileName(file.replace(/\.\w+$/, ''), name)}.pelt`) } }, 'Save'),
        el('button', { type: 'button', className: 'tiny', aria: { label: `Discard ${name} of ${file}` }, on: { click: () => void discard(number).then(() => { line.remove(); section.hidden = !list.childElementCount; }) } }, 'Discard')));
    return line;
  };
  void allKept().then((all) => {
    list.replaceChildren(...all.reverse().map(row));
    section.hidden = !all.length;
  });
}

export function welcomeCard(hands: Hands) {
  const bar = el('progress', { max: 1, value: 0, aria: { label: 'Progress' } });
  const doing = el('p', { aria: { live: 'polite' } });
  const busy = el('div', { className: 'welcome-busy', hidden: true }, bar, doing);
  const problem = el('p', { className: 'problem', role: 'alert', hidden: true });
  const told: Told = (share, text) => { bar.value = share; doing.textContent = `${text} …`; };

  async function run(work: (told: Told) => Promise<void>) {
    if (!busy.hidden) return;
    problem.hidden = true;
    busy.hidden = false;
    for (const control of controls) control.disabled = true;
    try {
      await work(told);
    } catch (thrown) {
      problem.textContent = thrown instanceof Error ? thrown.message : String(thrown);
      problem.hidden = false;
    }
    for (const control of controls) control.disabled = false;
    busy.hidden = true;
  }

  const chooser = (folder: boolean) => {
    const input = el('input', { type: 'file', multiple: true, hidden: true, webkitdirectory: folder, accept: folder ? '' : FILES, on: { change: () => {
      const files = [...(input.files ?? [])];
      input.value = '';
      if (files.length) void run((how) => hands.take(files, how));
    } } });
    return input;
  };
  const [some, all] = [chooser(false), chooser(true)];
  const choose = el('button', { type: 'button', className: 'tiny primary', on: { click: () => some.click() } }, 'Choose files');
  const chooseFolder = el('button', { type: 'button', className: 'tiny', hidden: true, title: 'A folder with the character and its caches; folders of .obj files work too', on: { click: () => all.click() } }, 'Choose a folder');
  const samples = SAMPLES.map((sample) => el('button', { type: 'button', className: 'sample', data: { sample: sample.name }, on: { click: () => void run((how) => hands.make(sample, how)) } },
    el('b', {}, sample.title), el('span', {}, sample.says)));
  const controls = [choose, chooseFolder, ...samples];
  const kinds = el('p');
  const drop = el('div', { className: 'welcome-drop' }, el('b', {}, 'Drop a character anywhere'), kinds, el('span', { className: 'buttons' }, choose, chooseFolder), some, all);
  const made = el('section', {}, el('h3', {}, 'Or try a built-in one'), el('div', { className: 'samples' }, ...samples));
  const title = el('h2'), lead = el('p', { className: 'lead' });
  const commands = el('section', {}, el('h3', {}, 'The same on the command line'), commandList(hands.say));
  const keptSkins = el('ul', { className: 'kept' });
  const kept = el('section', { hidden: true }, el('h3', {}, 'Finished here before'), keptSkins);
  const element = el('div', { className: 'welcome' }, el('div', { className: 'welcome-card' }, title, lead, drop, busy, problem, kept, made, commands));

  // What can be done here; `local`: by the page itself.
  function offer({ fit, sample, local }: { fit: boolean; sample: boolean; local: boolean }) {
    title.textContent = local ? 'Drop a character, get its skin' : 'See what a skin does';
    lead.textContent = local
      ? 'Put examples in and get a small, fast skin, with its error shown beside it. Everything happens in this page: your data never leaves this machine, and the page works offline after the first visit.'
      : 'Truth, model and the difference between them, frame by frame.';
    kinds.textContent = local
      ? 'A .glb or .gltf with its examples: caches (.pc2, .mdd, .npy) or folders of .obj; also tables (.csv) and skins (.pelt).'
      : 'A .glb or .gltf with its caches (.pc2, .mdd, .npy) and tables (.csv); skins (.pelt) or key points (.keys).';
    drop.hidden = !fit;
    made.hidden = !sample;
    commands.hidden = local;
    chooseFolder.hidden = !local;
    if (local) keptList(keptSkins, kept);
  }
  return { element, run, offer };
}
