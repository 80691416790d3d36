// gathering.ts: all points of a scene gathered in steps, each a picture; it can be stopped and goes on where it was.

import type { Answer } from './lamp_picture';

export const PATHS_PER_POINT = 128;
const FIRST = 1 << 15; // paths of the first step: a coarse picture at once
const LEAST = 1 << 14;
const MOST = 1 << 21;
const PACE = 350; // milliseconds between pictures

export type State = 'idle' | 'running' | 'stopped' | 'done' | 'failed';

/** So many paths that the next step takes about as long as wanted. */
export const nextPaths = (paths: number, milliseconds: number) =>
  Math.round(Math.min(MOST, Math.max(LEAST, paths * Math.min(2, Math.max(0.5, PACE / Math.max(1, milliseconds))))));

export class Gathering {
  state: State = 'idle';
  share = 0;
  seconds = 0; // of the server
  problem = '';
  private ends: AbortController | null = null;

  constructor(private readonly ask: (body: object, signal: AbortSignal) => Promise<Answer>, private readonly changed: (answer: Answer | null) => void) {}

  /** From the start, for a light at another place. */
  begin(at: number[]): Promise<void> {
    this.share = this.seconds = 0;
    return this.go(at);
  }

  /** Goes on after a stop. */
  async go(at: number[]): Promise<void> {
    this.ends?.abort();
    const ends = new AbortController();
    this.ends = ends;
    this.become('running');
    for (let paths = FIRST; this.share < 1;) {
      try {
        const answer = await this.ask({ at, full: true, samples: PATHS_PER_POINT, paths }, ends.signal);
        if (ends.signal.aborted) return;
        this.share = answer.share;
        this.seconds += answer.milliseconds / 1000;
        paths = nextPaths(paths, answer.milliseconds);
        this.state = this.share < 1 ? 'running' : 'done';
        this.changed(answer);
      } catch (thrown) {
        if (ends.signal.aborted) return;
        this.problem = thrown instanceof Error ? thrown.message : String(thrown);
        return this.become('failed');
      }
    }
  }

  stop(): void {
    if (this.state !== 'running') return;
    this.ends?.abort();
    this.become('stopped');
  }

  /** The light has moved: what was gathered is of no use. */
  forget(): void {
    this.ends?.abort();
    this.share = 0;
    this.become('idle');
  }

  private become(state: State): void {
    this.state = state;
    this.changed(null);
  }
}
