import './style.css';
import { Session } from './session';

const session = new Session();
document.querySelector('#app')!.append(session.stage.element);
Object.assign(globalThis, { peltApp: session });
void session.refresh().then(() => session.store.set({ subject: 0 })).catch((thrown) => session.problem(thrown));
