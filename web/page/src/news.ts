// news.ts: learns of skins and characters that came after this page was opened, from another tab or its own fits.

import type { Session } from './session';
import type { Counts } from './show';

const SECONDS = 3;

export function news(session: Session) {
  const known = (): Counts => ({
    characters: session.show!.characters.length,
    skins: session.show!.characters.reduce((sum, { skins }) => sum + skins.length, 0),
    boxes: session.show!.boxes.length,
  });

  async function look() {
    if (!session.server || session.local || document.hidden) return;
    const now = await session.data.json<Counts>('data/counts.json').catch(() => null); // a server that is gone is told of by whoever needs it
    const before = now && session.show ? known() : null;
    if (!now || !before || (now.skins === before.skins && now.characters === before.characters && now.boxes === before.boxes)) return;
    const names = new Set(session.show!.characters.flatMap(({ name, skins }) => skins.map((skin) => `${name}/${skin.name}`)));
    await session.refresh();
    if (session.subject() === null && session.subjects().length) session.store.set({ subject: 0 });
    const added = session.show!.characters.flatMap(({ name, skins }) => skins.filter((skin) => !names.has(`${name}/${skin.name}`)).map((skin) => skin.name));
    if (added.length) session.say(`${added.length === 1 ? 'A new skin' : 'New skins'}: ${added.join(', ')}.`);
  }

  const run = () => void look().catch((thrown) => session.problem(thrown));
  setInterval(run, 1000 * SECONDS);
  document.addEventListener('visibilitychange', run);
}
