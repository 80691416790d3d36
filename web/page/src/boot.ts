// boot.ts: what loads first. A page that fits itself and has nothing to show yet is the first screen alone: the viewer comes when
// somebody has chosen something, the fitter after it.

import './style.css';
import { el } from './dom';
import { gather } from './gather';
import type { Show } from './show';
import './theme'; // the first screen is as dark or light as what follows
import { welcomeCard, type Sample } from './welcome_card';

const load = () => import('./main').catch(() => { throw new Error('The viewer could not be loaded. Is this machine offline?'); });

// The list beside the page; null: a server wants a key for it, and the viewer knows what to do.
async function beside(): Promise<Show | null> {
  if (location.hash || sessionStorage.getItem('pelt-key')) return null;
  const answer = await fetch('data/show.json').catch(() => null);
  return answer?.ok ? answer.json().catch(() => null) : null;
}

function front(root: HTMLElement) {
  const open = async (go: (viewer: { drop(files: File[]): unknown; make(sample: Sample): unknown }) => unknown) => {
    const { start } = await load();
    const { first, ready } = start();
    document.removeEventListener('drop', drop);
    await ready;
    void go(first);
  };
  const card = welcomeCard({
    take: (files, told) => (told(0, 'loading the viewer'), open((viewer) => viewer.drop(files))),
    make: (sample, told) => (told(0, 'loading the viewer'), open((viewer) => viewer.make(sample))),
    say: () => undefined,
  });
  const over = (on: boolean) => document.body.classList.toggle('dropping', on);
  const drop = (event: DragEvent) => {
    event.preventDefault();
    over(false);
    void gather(event.dataTransfer).then((files) => { if (files.length) void card.run((told) => (told(0, 'loading the viewer'), open((viewer) => viewer.drop(files)))); });
  };
  document.addEventListener('dragover', (event) => { event.preventDefault(); over(true); });
  document.addEventListener('dragleave', (event) => { if (!event.relatedTarget) over(false); });
  document.addEventListener('drop', drop);
  card.offer({ fit: true, sample: true, local: true });
  root.classList.add('nothing-open');
  root.replaceChildren(el('header', { className: 'top' }, el('h1', { className: 'brand' }, 'pelt')), el('main', { className: 'viewer' }, el('div', { className: 'stage' }, card.element)));
}

// Everything is kept for the next visit, which may be offline, once the page stands.
function keepForOffline() {
  const keep = () => void navigator.serviceWorker?.register('offline.js').catch(() => undefined);
  if (document.readyState === 'complete') keep();
  else addEventListener('load', keep);
}

async function boot() {
  const root = document.querySelector<HTMLElement>('#app')!;
  const show = await beside();
  if (show?.fitter) keepForOffline();
  if (show?.fitter && !show.characters.length && !show.boxes.length) return front(root);
  return load().then(({ start }) => void start()).catch((thrown: Error) => { root.textContent = thrown.message; });
}

void boot();
