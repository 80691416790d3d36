// served.ts: who answers the page's requests: `pelt view`, or files next to the page; apart from the key, the page cannot tell. A
// page with a fitter of its own has a third (local.ts).
//
// The key is in the fragment of the printed address, which browsers never send. It is kept for reloads of this tab and
// removed from the address bar, so that it does not end up in bookmarks and screenshots. Links to a view (link.ts) are in
// the fragment too, without the key: a tab that has none asks the others of this address for it.

import { Problem } from './problem';

export interface Source {
  ask(name: string, options?: RequestInit): Promise<Response>; // throws a Problem unless it is answered
}

const KEPT = 'pelt-key';

// "KEY", "subject=arm&frame=3", or both with & between.
export function readFragment(fragment: string): { key: string; link: string } {
  const [first = '', ...rest] = fragment.replace(/^#/, '').split('&');
  return first.includes('=') ? { key: '', link: [first, ...rest].join('&') } : { key: decodeURIComponent(first), link: rest.join('&') };
}

const cleanAddress = () => history.replaceState(null, '', location.pathname + location.search);

function takeFragment(): { key: string; link: string } {
  const { key, link } = readFragment(location.hash);
  if (key) sessionStorage.setItem(KEPT, key);
  if (location.hash) cleanAddress();
  return { key: key || sessionStorage.getItem(KEPT) || '', link };
}

// Calls back with links that are opened in this tab later.
export function onLink(call: (link: string) => void) {
  addEventListener('hashchange', () => {
    const { key, link } = readFragment(location.hash);
    if (key) return location.reload();
    if (!link) return;
    cleanAddress();
    call(link);
  });
}

async function problemOf(answer: Response, name: string): Promise<Problem> {
  const said = await answer.json().catch(() => null);
  if (said?.error?.text) return new Problem(said.error.text);
  if (answer.status === 401 || answer.status === 403) {
    return new Problem('This address has no key, or an outdated one: open the address that `pelt view` printed.');
  }
  return new Problem(`${name} could not be read (${answer.status} ${answer.statusText}).`);
}

export class Served implements Source {
  readonly link: string; // of the address that was opened
  private key: string;
  private readonly tabs = typeof document === 'undefined' ? null : new BroadcastChannel(KEPT);
  private borrowing: Promise<boolean> | null = null;

  constructor() {
    ({ key: this.key, link: this.link } = takeFragment());
    this.tabs?.addEventListener('message', ({ data }) => { if (data === 'which' && this.key) this.tabs!.postMessage({ key: this.key }); });
  }

  // The key of another tab of this address, which only this server's page can ask.
  private borrow(): Promise<boolean> {
    this.borrowing ??= new Promise((done) => {
      const { tabs } = this;
      if (!tabs) return done(false);
      const end = (key: string) => {
        tabs.removeEventListener('message', hear);
        if (key && key !== this.key) sessionStorage.setItem(KEPT, key);
        done(key !== '' && key !== this.key);
        this.key = key || this.key;
      };
      const hear = ({ data }: MessageEvent) => { if (typeof data?.key === 'string') end(data.key); };
      tabs.addEventListener('message', hear);
      tabs.postMessage('which');
      setTimeout(() => end(''), 400);
    });
    return this.borrowing;
  }

  async ask(name: string, options: RequestInit = {}): Promise<Response> {
    const headers = new Headers(options.headers);
    if (this.key) headers.set('X-Pelt-Key', this.key);
    const answer = await fetch(name, { ...options, headers }).catch((problem: unknown) => {
      if (options.signal?.aborted) throw problem;
      throw new Problem('The server does not answer. Is `pelt view` still running?');
    });
    if (answer.status === 403 && !this.borrowing && await this.borrow()) return this.ask(name, options);
    if (!answer.ok) throw await problemOf(answer, name);
    return answer;
  }
}
