// verdicts.ts: what the soft cache can decide about a frame, in words.

import type { Verdict } from '../show';

export const VERDICTS: Record<Verdict, string> = {
  hit: 'The key points are trusted: nothing else is computed.',
  part: 'Trusted in parts: the rig computes the other regions.',
  blend: 'In between: the rig computes all points, blended with the key points.',
  miss: 'Unlike anything in training: the rig computes all points.',
  doubt: 'Not trusted, but nothing can compute these points.',
};

export const NAMES = Object.keys(VERDICTS) as Verdict[];
