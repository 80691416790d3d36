// The build puts VERSION and FILES before this. Files of the page come from the cache, others from the network while there is one.

const ours = (request) => request.method === 'GET' && new URL(request.url).origin === location.origin;
const isListed = (url) => FILES.some((name) => new URL(name, registration.scope).href === url.split(/[?#]/)[0]);

addEventListener('install', (event) => {
  event.waitUntil(caches.open(VERSION).then((cache) => cache.addAll([...FILES, 'data/show.json'])));
});

addEventListener('activate', (event) => {
  event.waitUntil(caches.keys().then((names) => Promise.all(names.filter((name) => /^pelt-/.test(name) && name !== VERSION).map((name) => caches.delete(name)))));
});

async function fromNetwork(request) {
  const cache = await caches.open(VERSION);
  try {
    const answer = await fetch(request);
    if (answer.ok) await cache.put(request, answer.clone());
    return answer;
  } catch (problem) {
    const kept = await cache.match(request, { ignoreSearch: true });
    if (kept) return kept;
    throw problem;
  }
}

addEventListener('fetch', (event) => {
  const { request } = event;
  if (!ours(request)) return;
  event.respondWith(isListed(request.url) ? caches.match(request, { ignoreSearch: true }).then((kept) => kept ?? fetch(request)) : fromNetwork(request));
});
