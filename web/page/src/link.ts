// link.ts: what is seen, as words behind the # of an address: subject, skin, clip, frame, camera, layout and the pulled
// pose. Names rather than numbers where there are names, so that a link fits other orders of the same files. The server's
// key is never in it.

import { Vector3 } from 'three';
import type { Session } from './session';
import { LAYOUTS, SHADINGS } from './toolbar';

const short = (x: number) => String(Number(x.toPrecision(6)));
const list = (numbers: ArrayLike<number>) => Array.from(numbers, short).join(',');

const finite = (text: string | null, counts: number[]): number[] | null => {
  const numbers = (text ?? '').split(',').map(Number);
  return text && counts.includes(numbers.length) && numbers.every(Number.isFinite) ? numbers : null;
};

// "elbow:0,0,0,1;wrist:…": ten numbers of a joint, or the four of its rotation where the rest is the clip's.
function pullText(session: Session): string {
  const { joints } = session.pose.kept();
  const names = session.character()?.joints ?? [];
  return [...joints].map(([joint, transform]) => {
    const plain = transform.subarray(4).every((x, i) => x === session.pose.clip[10 * joint + 4 + i]);
    return `${encodeURIComponent(names[joint]!.name)}:${list(plain ? transform.subarray(0, 4) : transform)}`;
  }).join(';');
}

export function linkWords(session: Session): string {
  const { clip, frame, layout, shading, wireframe, difference, flat } = session.store.get();
  const { camera, target, moved } = session.stage;
  const words: [string, string][] = [['subject', session.subject()?.name ?? '']];
  if (session.skinNow()) words.push(['skin', session.skinNow()!.name]);
  if (session.clips()[clip]) words.push(['clip', session.clips()[clip]!.name], ['frame', String(frame + 1)]);
  words.push(['layout', layout], ['shading', shading]);
  if (wireframe) words.push(['wires', '1']);
  if (difference) words.push(['heat', '1']);
  if (flat) words.push(['flat', '1']);
  if (moved) words.push(['camera', list([...camera.position.toArray(), ...target.toArray()])]);
  const pull = pullText(session);
  if (pull) words.push(['pull', pull]);
  const controls = [...session.pose.kept().controls].map(([i, value]) => `${encodeURIComponent(session.character()!.controls[i]!.name)}:${short(value)}`).join(';');
  if (controls) words.push(['controls', controls]);
  return words.filter(([, value]) => value).map(([key, value]) => `${key}=${encodeURIComponent(value)}`).join('&');
}

export const linkTo = (session: Session) => `${location.origin}${location.pathname}#${linkWords(session)}`;

function pull(session: Session, text: string, controls: string) {
  const character = session.character()!;
  const joints = new Map<number, Float32Array>();
  const values = new Map<number, number>();
  for (const part of text.split(';')) {
    const [name = '', numbers = ''] = part.split(':');
    const joint = character.joints.findIndex((one) => encodeURIComponent(one.name) === name);
    const given = finite(numbers, [4, 10]);
    if (joint < 0 || !given) continue;
    const transform = session.pose.clip.slice(10 * joint, 10 * joint + 10);
    transform.set(given);
    joints.set(joint, transform);
  }
  for (const part of controls.split(';')) {
    const [name = '', number = ''] = part.split(':');
    const control = character.controls.findIndex((one) => encodeURIComponent(one.name) === name);
    if (control >= 0 && finite(number, [1])) values.set(control, Number(number));
  }
  session.pose.restore({ joints, controls: values });
}

// Restores what a link says, as far as it is here. True: the words were a link.
export async function followLink(session: Session, words: string): Promise<boolean> {
  const given = new URLSearchParams(words.replace(/\+/g, '%2B'));
  const subject = session.subjects().findIndex(({ name }) => name === given.get('subject'));
  if (!given.has('subject')) return false;
  if (subject < 0) {
    session.say(`The link shows ${given.get('subject')}, which is not open here.`, 'problem');
    return false;
  }
  await session.openWhole(subject);
  const skins = session.character()?.skins ?? [];
  const skin = skins.findIndex(({ name }) => name === given.get('skin'));
  const clips = session.clips();
  const clip = clips.findIndex(({ name }) => name === given.get('clip'));
  const frame = Number(given.get('frame')) - 1;
  const layout = LAYOUTS.find(({ value }) => value === given.get('layout'))?.value;
  const shading = SHADINGS.find(({ value }) => value === given.get('shading'))?.value;
  session.store.set({
    playing: false, wireframe: given.has('wires'), difference: given.has('heat'), flat: given.has('flat'),
    ...(skin >= 0 && { skin }), ...(layout && { layout }), ...(shading && { shading }),
    ...(clip >= 0 && { clip, frame: Math.min(clips[clip]!.frames - 1, Math.max(0, Number.isInteger(frame) ? frame : 0)) }),
  });
  await session.settled();
  if (session.character()) pull(session, given.get('pull') ?? '', given.get('controls') ?? '');
  await session.settled();
  const camera = finite(given.get('camera'), [6]);
  if (camera) session.stage.moveCamera(new Vector3(...camera.slice(0, 3)), new Vector3(...camera.slice(3)));
  if (given.has('skin') && skin < 0) session.say(`The link shows the skin ${given.get('skin')}, which is not open here.`);
  return true;
}
