// main.ts: assembles the page.

import './style.css';
import { el } from './dom';
import { keyboard } from './keyboard';
import { messages } from './messages';
import { firstSubject } from './first';
import { beginPanels, panels } from './panels';
import { playback } from './playback';
import { FACE_RESULTS, Session } from './session';
import { sidePanels } from './side';
import { skinTable } from './skins';
import { onTheme } from './theme';
import { timeline } from './timeline';
import { legend, toolbar } from './toolbar';
import { topBar } from './top';

function emptyPage(session: Session) {
  const text = el('p');
  const element = el('div', { className: 'empty', hidden: true }, el('h2', {}, 'Nothing to look at yet'), text);
  session.on('shown', () => {
    element.hidden = session.subjects().length > 0;
    text.textContent = session.can.fit ? 'Drop a bundle on the Fit panel: a .glb file and its caches.' : 'Give `pelt view` a bundle, skins or a .keys file.';
  });
  return element;
}

// The panes' titles: the model by its skin, and why there is no truth.
function paneTitles(session: Session) {
  const update = () => {
    const { stage } = session;
    const face = session.subject()?.kind === 'face';
    const skin = session.skinNow()?.name ?? (face ? FACE_RESULTS[session.store.get().skin] : '') ?? '';
    const clip = session.pulledFace ? 'the rig' : session.clips()[session.store.get().clip]?.name ?? 'rest pose';
    stage.title('truth', clip);
    stage.title('difference', 'model − truth');
    if (stage.arrangement === 'overlay' || stage.arrangement === 'wipe') stage.title('model', skin, 'truth', 'model');
    else stage.title('model', session.pose.pulled ? `${skin} · changed pose, no truth` : session.pulledFace ? `${skin} · pulled` : stage.truth ? skin : `${skin} · no truth`);
  };
  session.stage.element.addEventListener('arranged', update);
  session.store.watch(['skin', 'clip'], update);
  session.on('skin', update);
  session.on('pose', update);
}

function start() {
  const root = document.querySelector('#app')!;
  const session = new Session();
  Object.assign(globalThis, { peltApp: session });
  if (matchMedia('(max-width: 700px)').matches) session.store.set({ layout: 'wipe' });
  const line = timeline(session);
  const keys = keyboard(session, panels, line.goToWorst, (id) => session.store.set({ panel: id }));
  session.stage.element.append(legend(session), emptyPage(session), ...messages(session));
  root.replaceChildren(
    topBar(session, keys.toggleHelp),
    el('main', { className: 'viewer', aria: { label: 'View' } }, toolbar(session), session.stage.element, line.holder),
    el('aside', { className: 'side', aria: { label: 'Skins and panels' } }, skinTable(session), sidePanels(session, panels)));
  paneTitles(session);
  playback(session);
  beginPanels(session);
  onTheme(() => session.stage.redraw());
  void session.refresh()
    .then(() => { if (session.subjects().length) session.store.set({ subject: firstSubject(session.subjects()) }); })
    .catch((thrown) => session.problem(thrown));
}

start();
