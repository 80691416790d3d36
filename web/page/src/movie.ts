// movie.ts: the clip as a movie, by the browser's own recorder. It writes what it is given when it is given it, so frames
// are drawn in turn and held as long as they last; a machine that cannot keep up makes a slower movie, never one with
// frames missing.

import { Problem } from './data';
import { compose } from './picture';
import type { Session } from './session';

const TYPES = ['video/webm;codecs=vp9', 'video/webm;codecs=vp8', 'video/webm', 'video/mp4'];

// What this browser records; null: nothing.
export function movieType(): string | null {
  if (typeof MediaRecorder === 'undefined' || !('captureStream' in HTMLCanvasElement.prototype)) return null;
  return TYPES.find((type) => MediaRecorder.isTypeSupported(type)) ?? null;
}

const wait = (milliseconds: number) => new Promise((done) => setTimeout(done, Math.max(0, milliseconds)));

export async function movieFile(session: Session, told: (share: number) => void, stop: AbortSignal): Promise<Blob> {
  const type = movieType();
  const { clip, frame: before, speed } = session.store.get();
  const { frames = 0, seconds } = session.clips()[clip] ?? {};
  if (!type) throw new Problem('This browser cannot record movies: it has no MediaRecorder for WebM.');
  if (frames < 2) throw new Problem('There is no clip to record.');
  const canvas = compose(session, 1);
  const stream = canvas.captureStream(0);
  const track = stream.getVideoTracks()[0] as CanvasCaptureMediaStreamTrack;
  const recorder = new MediaRecorder(stream, { mimeType: type, videoBitsPerSecond: 12e6 });
  const parts: Blob[] = [];
  recorder.addEventListener('dataavailable', ({ data }) => { if (data.size) parts.push(data); });
  const ended = new Promise<void>((done) => recorder.addEventListener('stop', () => done()));
  const lasts = (frame: number) => {
    const given = seconds && frame + 1 < frames ? 1000 * (seconds[frame + 1]! - seconds[frame]!) : 1000 / 30;
    return (given > 0 && given < 1000 ? given : 1000 / 30) / (speed || 1);
  };
  session.store.set({ playing: false });
  recorder.start(500);
  try {
    for (let frame = 0; frame < frames && !stop.aborted; frame++) {
      const from = performance.now();
      session.store.set({ frame });
      await session.settled();
      compose(session, 1, canvas);
      track.requestFrame();
      told((frame + 1) / frames);
      await wait(lasts(frame) - (performance.now() - from));
    }
    track.requestFrame(); // the last frame lasts too
  } finally {
    recorder.stop();
    await ended;
    track.stop();
    session.store.set({ frame: before });
  }
  if (stop.aborted) throw new DOMException('stopped', 'AbortError');
  return new Blob(parts, { type: type.split(';')[0] });
}
