import type { App, Panel } from '../app';
import { numbers } from './numbers';
import { regions } from './regions';
import { confidence } from './confidence';
import { pull } from './pull';
import { inside } from './inside';
import { face } from './face';
import { light } from './light';
import { fit, takeDrops } from './fit';

export const panels: Panel[] = [numbers, regions, confidence, pull, inside, face, light, fit];

// What panels do before they are opened: light scenes and faces open their own panels, and files may be dropped
// anywhere.
export function beginPanels(app: App, firstFiles: (files: File[]) => void): void {
  app.on('subject', ({ kind }) => { if (kind !== 'character') app.store.set({ panel: kind }); });
  takeDrops(app, firstFiles);
}
