// playback.ts: plays frames at the clip's own rate. Waits for frames whose truth has not arrived: what is shown side by
// side belongs together.

import type { Session } from './session';

export function playback(session: Session) {
  const { store } = session;
  let since = 0;

  function secondsOf(frame: number, frames: number, seconds: number[] | null | undefined): number {
    const length = seconds && frame + 1 < frames ? seconds[frame + 1]! - seconds[frame]! : 1 / 30;
    return length > 0 && length < 1 ? length : 1 / 30;
  }

  function step(now: number) {
    const { playing, clip, frame, speed } = store.get();
    const { frames = 0, seconds } = session.clips()[clip] ?? {};
    if (!playing || frames < 2) return;
    const due = speed ? (1000 * secondsOf(frame, frames, seconds)) / speed : 0;
    if (!session.busy && now - since >= due - 2) {
      since = Math.max(since + due, now - 50); // late frames are not caught up
      store.set({ frame: (frame + 1) % frames });
    }
    requestAnimationFrame(step);
  }

  store.watch(['playing'], ({ playing }) => {
    since = performance.now();
    if (playing) requestAnimationFrame(step);
  });
}
