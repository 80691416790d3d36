// jobs.ts: fits that the server does for the page, followed until they end.

import type { App } from './app';
import { Problem } from './data';

export interface Job {
  state: 'running' | 'done' | 'failed' | 'cancelled';
  share: number;
  text: string;
  character?: number;
  skin?: number | null;
  error?: { text: string } | null;
}

export const wait = (milliseconds: number) => new Promise<void>((done) => setTimeout(done, milliseconds));

// Begins a fit with the words of `pelt fit`; its number.
export async function beginFit(app: App, character: number, words: string[], name: string): Promise<number> {
  return (await app.data.post<{ job: number }>('api/fit', { character, words, name })).job;
}

// The job when it is done or cancelled; a failure is thrown.
export async function followJob(app: App, number: number, told: (job: Job) => void, rest: (pause: number) => Promise<void> = wait): Promise<Job> {
  for (let pause = 60; ; pause = Math.min(pause * 1.3, 500)) {
    const job = await app.data.json<Job>(`api/job/${number}`);
    told(job);
    if (job.state === 'failed') throw new Problem(job.error?.text ?? 'The fit failed.');
    if (job.state !== 'running') return job;
    await rest(pause);
  }
}
