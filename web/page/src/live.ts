// live.ts: the character follows poses that come from elsewhere, line by line (`pelt view --live`). The page asks for the latest
// when it has drawn the one before, so it may skip some and never falls behind.

import type { Session } from './session';
import { Problem } from './data';
import { el } from './dom';
import { FLOATS } from './pose';

const HEAD = 4; // words before the pose
const IDLE = 30; // milliseconds until it asks again when nothing has come
const STATES = ['waiting', 'live', 'over', 'broken'] as const;
type State = (typeof STATES)[number];

const WORDS: Record<State, string> = {
  waiting: 'Live: waiting for the first pose',
  live: 'Live',
  over: 'Live: the stream has ended',
  broken: 'Live: the stream failed; the terminal of `pelt view` says why',
};

export interface Latest { state: State; count: number; skipped: number; locals: Float32Array; controls: Float32Array }

// The latest pose as the server sends it: state, poses so far, lines skipped; transforms of joints, values of controls.
export function readLatest(bytes: ArrayBuffer, joints: number, controls: number): Latest {
  if (bytes.byteLength !== 4 * (HEAD + FLOATS * joints + controls)) throw new Problem('The live pose belongs to another character.');
  const [state = 0, count = 0, skipped = 0] = new Uint32Array(bytes, 0, HEAD);
  const numbers = new Float32Array(bytes, 4 * HEAD);
  return { state: STATES[state] ?? 'broken', count, skipped, locals: numbers.subarray(0, FLOATS * joints), controls: numbers.subarray(FLOATS * joints) };
}

const pause = (milliseconds: number) => new Promise((done) => { setTimeout(done, milliseconds); });
const nextFrame = () => new Promise((done) => { requestAnimationFrame(done); });

export function live(session: Session): HTMLElement {
  const button = el('button', { type: 'button', className: 'tiny live', hidden: true, on: { click: () => follow(!following) } }, 'Live');
  let following = false;
  let running = false;
  let state: State = 'waiting';

  const stream = () => {
    const subject = session.subject();
    const named = session.show?.live;
    return named && subject?.kind === 'character' && subject.index === named.character ? { ...named, character: subject.character } : null;
  };

  function update() {
    button.hidden = !stream();
    button.setAttribute('aria-pressed', String(following));
    button.textContent = following ? WORDS[state] : 'Live';
    button.title = following ? 'The character follows the live poses; press to go back to the clip' : 'Follow the live poses';
  }

  function follow(on: boolean) {
    following = on && stream() !== null;
    if (!following) void session.follow(null).catch((thrown) => session.problem(thrown));
    update();
    if (following && !running) void run();
  }

  // Until nobody follows, or no more can come.
  async function run() {
    running = true;
    let seen = 0;
    try {
      for (let now = stream(); following && now; now = stream()) {
        const answer = await session.data.ask(now.pose);
        const latest = readLatest(await answer.arrayBuffer(), now.character.joints.length, now.character.controls.length);
        if (!following) break;
        const anew = latest.count !== seen;
        state = latest.state;
        seen = latest.count;
        if (anew) await session.follow(latest);
        update();
        if (!anew && (state === 'over' || state === 'broken')) break;
        await (anew && !document.hidden ? nextFrame() : pause(IDLE));
      }
    } catch (thrown) {
      following = false;
      session.problem(thrown);
    } finally {
      running = false;
      update();
    }
  }

  session.on('subject', () => follow(true));
  session.on('shown', update);
  session.store.watch(['clip', 'frame', 'playing'], () => { // whoever looks at a clip follows no more
    following = false;
    update();
  });
  update();
  return button;
}
