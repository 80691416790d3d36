// welcome.ts: the first screen in the viewer.

import type { Session } from './session';
import { beginFit, followJob } from './jobs';
import { sendFiles } from './upload';
import { welcomeCard, type Sample, type Told } from './welcome_card';

export { COMMANDS, SAMPLES } from './welcome_card';

// Skins that are there already, because they were finished here before, are not fitted again.
async function make(session: Session, sample: Sample, told: Told) {
  told(0, session.local ? 'loading the fitter' : `making the ${sample.name}`);
  const { character } = await session.data.post<{ character: number }>('api/sample', { sample: sample.name });
  const known = (await session.data.show()).characters[character]?.skins.map(({ name }) => name) ?? [];
  const fits = sample.fits.filter(({ name }) => !known.includes(name));
  const steps = fits.length + 1;
  for (const [i, { name, words }] of fits.entries()) {
    const job = await beginFit(session, character, words, name);
    await followJob(session, job, ({ share }) => told((i + 1 + (share || 0)) / steps, `fitting a ${name} skin`));
  }
  await session.refresh();
  const at = session.subjects().findIndex((subject) => subject.kind === 'character' && subject.index === character);
  await session.openWhole(at);
  const best = session.character()?.skins.findIndex(({ name }) => name === sample.fits.at(-1)!.name) ?? 0;
  session.store.set({ skin: Math.max(0, best) });
}

export function welcome(session: Session, root: HTMLElement) {
  const card = welcomeCard({
    take: (files, told) => sendFiles(session, files, told),
    make: (sample, told) => make(session, sample, told),
    say: (sentence) => session.say(sentence),
  });
  card.element.hidden = true;
  session.on('shown', () => {
    const empty = session.subjects().length === 0;
    card.element.hidden = !empty;
    root.classList.toggle('nothing-open', empty);
    card.offer({ ...session.can, local: session.local });
  });
  return {
    element: card.element,
    drop: (files: File[]) => card.run((told) => sendFiles(session, files, told)),
    make: (sample: Sample) => card.run((told) => make(session, sample, told)),
  };
}
