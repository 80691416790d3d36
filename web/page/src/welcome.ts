// welcome.ts: the first screen, when nothing is open: files to drop or choose, characters made on the spot, and the
// commands that do the same.

import type { Session } from './session';
import { el } from './dom';
import { icon } from './icons';
import { beginFit, followJob } from './jobs';
import { sendFiles } from './upload';

interface Sample { name: string; title: string; says: string; fits: { name: string; words: string[] }[] }

const train = ['--train', 'train', '--holdout', '0', '--method'];

export const SAMPLES: Sample[] = [
  { name: 'arm', title: 'Arm', says: 'Muscle, twist and crease, with a known truth', fits: [{ name: 'linear', words: [...train, 'ssd'] }, { name: 'kernel', words: [...train, 'kernel'] }] },
  { name: 'biceps', title: 'Biceps', says: 'An elbow whose muscle has a slider', fits: [{ name: 'linear', words: [...train, 'ssd'] }, { name: 'psd', words: [...train, 'psd'] }] },
  { name: 'humanoid', title: 'Humanoid', says: '53 joints to pull', fits: [{ name: 'linear', words: [...train, 'ssd'] }] },
];

export const COMMANDS = ['pelt sample arm -o .', 'pelt fit arm.glb --train train -o arm.pelt', 'pelt view arm.pelt arm.glb'];

const FILES = '.glb,.gltf,.bin,.pelt,.keys,.pc2,.mdd,.npy,.csv,.png,.jpg,.jpeg';

function commandList(session: Session) {
  const row = (text: string) => {
    const code = el('code', {}, text);
    const copy = el('button', { type: 'button', className: 'plain', title: 'Copy', aria: { label: `Copy: ${text}` }, on: { click: () => void take() } }, icon('copy'));
    async function take() {
      try {
        await navigator.clipboard.writeText(text);
        session.say('The command was copied to the clipboard.');
      } catch {
        getSelection()?.selectAllChildren(code);
        session.say('The browser blocks the clipboard: the command is selected, copy it.');
      }
    }
    return el('li', {}, code, copy);
  };
  return el('ol', { className: 'commands' }, ...COMMANDS.map(row));
}

export function welcome(session: Session, root: HTMLElement) {
  const bar = el('progress', { max: 1, value: 0, aria: { label: 'Progress' } });
  const doing = el('p', { aria: { live: 'polite' } });
  const busy = el('div', { className: 'welcome-busy', hidden: true }, bar, doing);
  const problem = el('p', { className: 'problem', role: 'alert', hidden: true });
  const told = (share: number, text: string) => { bar.value = share; doing.textContent = `${text} …`; };

  async function run(work: () => Promise<void>) {
    if (!busy.hidden) return;
    problem.hidden = true;
    busy.hidden = false;
    for (const control of controls) control.disabled = true;
    try {
      await work();
    } catch (thrown) {
      problem.textContent = thrown instanceof Error ? thrown.message : String(thrown);
      problem.hidden = false;
    }
    for (const control of controls) control.disabled = false;
    busy.hidden = true;
  }

  async function make(sample: Sample) {
    told(0, `making the ${sample.name}`);
    const { character } = await session.data.post<{ character: number }>('api/sample', { sample: sample.name });
    const steps = sample.fits.length + 1;
    for (const [i, { name, words }] of sample.fits.entries()) {
      const job = await beginFit(session, character, words, name);
      await followJob(session, job, ({ share }) => told((i + 1 + (share || 0)) / steps, `fitting a ${name} skin`));
    }
    await session.refresh();
    const at = session.subjects().findIndex((subject) => subject.kind === 'character' && subject.index === character);
    await session.openWhole(at);
    session.store.set({ skin: sample.fits.length - 1 });
  }

  const chooser = el('input', { type: 'file', multiple: true, hidden: true, accept: FILES, on: { change: () => { const files = [...(chooser.files ?? [])]; if (files.length) void run(() => sendFiles(session, files, told)); } } });
  const choose = el('button', { type: 'button', className: 'tiny primary', on: { click: () => chooser.click() } }, 'Choose files');
  const samples = SAMPLES.map((sample) => el('button', { type: 'button', className: 'sample', data: { sample: sample.name }, on: { click: () => void run(() => make(sample)) } },
    el('b', {}, sample.title), el('span', {}, sample.says)));
  const controls = [choose, ...samples];
  const drop = el('div', { className: 'welcome-drop' },
    el('b', {}, 'Drop a character anywhere'),
    el('p', {}, 'A .glb or .gltf with its caches (.pc2, .mdd, .npy) and tables (.csv), skins (.pelt) or key points (.keys).'),
    choose, chooser);
  const made = el('section', {}, el('h3', {}, 'Or look at one made on the spot'), el('div', { className: 'samples' }, ...samples));
  const element = el('div', { className: 'welcome', hidden: true },
    el('div', { className: 'welcome-card' },
      el('h2', {}, 'See what a skin does'),
      el('p', { className: 'lead' }, 'Truth, model and the difference between them, frame by frame.'),
      drop, busy, problem, made,
      el('section', {}, el('h3', {}, 'The same on the command line'), commandList(session))));
  session.on('shown', () => {
    const empty = session.subjects().length === 0;
    element.hidden = !empty;
    root.classList.toggle('nothing-open', empty);
    drop.hidden = !session.can.fit;
    made.hidden = !session.can.sample;
  });
  return { element, drop: (files: File[]) => run(() => sendFiles(session, files, told)) };
}
