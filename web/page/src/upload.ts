// upload.ts: files of the user, sent to whoever opens them as a bundle, skins or key points: the server, or the fitter in this page.

import type { App } from './app';
import { pathsOf } from './gather';

interface Opened { character?: number | null; box?: number | null }

export type Told = (share: number, text: string) => void;

// Sends caches first; the last file, the scene, opens the bundle, and the page shows it.
export async function sendFiles(app: App, files: File[], told: Told): Promise<void> {
  const isScene = (file: File) => /\.(glb|gltf)$/i.test(file.name);
  const ordered = [...files.filter((file) => !isScene(file)), ...files.filter(isScene)];
  const paths = pathsOf(ordered);
  const drop = crypto.randomUUID(); // what is left of a drop that failed does not mix with the next
  for (const [i, file] of ordered.entries()) {
    told(i / ordered.length, app.local ? `reading ${file.name}` : `sending ${file.name}`);
    const last = i === ordered.length - 1;
    const answer = await app.data.post<Opened>(`api/bundle?drop=${drop}&name=${encodeURIComponent(paths[i]!)}${last ? '&open=1' : ''}`, file);
    if (!last) continue;
    await app.refresh();
    const { character, box } = answer;
    const at = app.subjects().findIndex((subject) => subject.index === (subject.kind === 'character' ? character : box));
    if (at >= 0) app.store.set({ subject: at });
  }
}
