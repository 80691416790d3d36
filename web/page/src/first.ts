// first.ts: what a page opens with.

import type { Subject } from './app';

/** A character with skins, else key points, whose mesh comes with a character that has none; else the first. */
export function firstSubject(subjects: Subject[]): number {
  const skinned = subjects.findIndex((subject) => subject.kind === 'character' && subject.character.skins.length > 0);
  const box = subjects.findIndex(({ kind }) => kind !== 'character');
  return skinned >= 0 ? skinned : Math.max(0, box);
}
