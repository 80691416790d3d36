// pair.ts: deforms a second skin in the same pose as the first, to stand beside it.

import type { Session } from './session';
import { Problem } from './data';
import { Engine } from './engine';

export function pair(session: Session) {
  const { store, stage } = session;
  const engine = new Engine(() => session.context());
  let open = ''; // the file in the engine
  let asked = 0;
  let before = store.get().skin;

  function follow() {
    if (!open) return;
    stage.setOther(true);
    const positions = stage.positionsIn('other'), normals = stage.normalsIn('other');
    if (!positions || !normals) return;
    void engine.deform(session.pose, store.get().level, positions, normals); // the run time writes before it returns: both skins are drawn together
    stage.setOther(true);
  }

  function close() {
    open = '';
    engine.close();
    stage.setOther(false);
  }

  async function update() {
    const turn = ++asked;
    const character = session.character();
    const skin = store.get().layout === 'skins' ? session.otherNow() : null;
    if (!character || !skin || !session.skin()) return close();
    if (open === skin.file) return follow();
    open = ''; // until it is there: the picture may be of another mesh by now
    const [bytes, pelt] = await Promise.all([session.data.bytes(skin.file), session.pelt]);
    if (turn !== asked || !stage.mesh) return;
    engine.open(pelt, bytes, character.joints, character.controls);
    if (engine.skin!.vertexCount !== stage.mesh.vertices) throw new Problem(`${skin.name} was made for another mesh than that of ${character.name}.`);
    open = skin.file;
    follow();
  }
  const run = () => void update().catch((thrown) => { close(); session.problem(thrown); });

  // The two trade places when the first becomes what the second was.
  store.watch(['skin'], ({ skin, other }) => {
    if (skin === other) store.set({ other: before });
    before = skin;
  });
  store.watch(['layout', 'other'], run);
  session.on('subject', close);
  session.on('skin', run);
  session.on('deformed', follow);
}
