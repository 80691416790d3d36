// main.ts: assembles the viewer.

import { el } from './dom';
import { onLink } from './data';
import { keyboard } from './keyboard';
import { vertexMarks } from './marks';
import { followLink } from './link';
import { live } from './live';
import { messages } from './messages';
import { news } from './news';
import { pair } from './pair';
import { firstSubject } from './first';
import { beginPanels, panels } from './panels';
import { playback } from './playback';
import { probe } from './probe';
import { FACE_RESULTS, Session } from './session';
import { shareMenu } from './share';
import { sidePanels } from './side';
import { skinActions } from './skin_actions';
import { skinTable } from './skins';
import { sideSplit } from './split';
import { onTheme } from './theme';
import { timeline } from './timeline';
import { legend, toolbar } from './toolbar';
import { topBar } from './top';
import { viewWidget } from './views';
import { welcome } from './welcome';
import './touch.css'; // the last, to win

// The panes' titles: the model by its skin, and why there is no truth.
function paneTitles(session: Session) {
  const update = () => {
    const { stage } = session;
    const face = session.subject()?.kind === 'face';
    const skin = session.skinNow()?.name ?? (face ? FACE_RESULTS[session.store.get().skin] : '') ?? '';
    const clip = session.pulledFace ? 'the rig' : session.clips()[session.store.get().clip]?.name ?? 'rest pose';
    stage.title('truth', clip);
    stage.title('difference', 'model − truth');
    stage.title('other', session.otherNow()?.name ?? '', 'B');
    if (stage.arrangement === 'overlay' || stage.arrangement === 'wipe') stage.title('model', skin, 'truth', 'model');
    else if (stage.arrangement === 'skins') stage.title('model', skin, 'A');
    else stage.title('model', session.pose.pulled ? `${skin} · pose changed, no truth` : session.pulledFace ? `${skin} · pulled` : session.followed ? `${skin} · live` : stage.truth ? skin : `${skin} · no truth`);
  };
  session.stage.element.addEventListener('arranged', update);
  session.store.watch(['skin', 'other', 'clip'], update);
  session.on('skin', update);
  session.on('pose', update);
}

export function start() {
  const root = document.querySelector<HTMLElement>('#app')!;
  const session = new Session();
  Object.assign(globalThis, { peltApp: session });
  if (matchMedia('(max-width: 700px)').matches) session.store.set({ layout: 'wipe' });
  const line = timeline(session);
  const share = shareMenu(session);
  const first = welcome(session, root);
  const keys = keyboard(session, panels, line.goToWorst, (id) => session.store.set({ panel: id }), share.toggle);
  session.stage.element.append(legend(session), viewWidget(session), first.element, ...messages(session));
  const tools = toolbar(session, share.holder);
  tools.prepend(live(session));
  root.replaceChildren(
    topBar(session, keys.toggleHelp),
    el('main', { className: 'viewer', aria: { label: 'View' } }, tools, session.stage.element, line.holder),
    el('aside', { className: 'side', aria: { label: 'Skins and panels' } }, sideSplit(root), skinTable(session), skinActions(session), sidePanels(session, panels)));
  paneTitles(session);
  playback(session);
  pair(session);
  vertexMarks(session);
  probe(session);
  news(session);
  beginPanels(session, first.drop);
  onTheme(() => session.stage.redraw());
  const ready = session.refresh()
    .then(async () => {
      if (session.subjects().length && !(await followLink(session, session.data.link))) session.store.set({ subject: firstSubject(session.subjects()) });
    })
    .catch((thrown) => session.problem(thrown));
  onLink((link) => void followLink(session, link).catch((thrown) => session.problem(thrown)));
  return { first, ready };
}

