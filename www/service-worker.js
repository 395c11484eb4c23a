/**
 * Keeps the page for when there is no network. The page itself is asked for first, so that a new build is seen at once;
 * everything else is asked for by the version of its build, and is the same for ever.
 */
const CACHE = "litecast {{version}}";
const FILES = ["{{files}}"];

self.addEventListener("install", (event) => {
  event.waitUntil(caches.open(CACHE).then((cache) => cache.addAll(FILES)).then(() => self.skipWaiting()));
});

self.addEventListener("activate", (event) => {
  const forget = async () => {
    const names = await caches.keys();
    const others = names.filter((name) => name.startsWith("litecast ") && name !== CACHE);
    // A page of the build before this one may still be open: its files stay until the next.
    await Promise.all(others.slice(0, -1).map((name) => caches.delete(name)));
    await self.clients.claim();
  };
  event.waitUntil(forget());
});

self.addEventListener("fetch", (event) => {
  const { request } = event;
  if (request.method !== "GET" || new URL(request.url).origin !== self.location.origin) return;
  if (request.mode === "navigate") event.respondWith(fetch(request).catch(() => caches.match("./", { cacheName: CACHE, ignoreSearch: true })));
  else event.respondWith(caches.match(request).then((kept) => kept ?? fetchOnce(request)));
});

/** What is asked for by the version of its build, such as the constants of GPUs, is kept once somebody has needed it. */
async function fetchOnce(request) {
  const response = await fetch(request);
  if (response.ok && new URL(request.url).searchParams.has("v")) {
    const copy = response.clone();
    await caches.open(CACHE).then((cache) => cache.put(request, copy)).catch(() => undefined);
  }
  return response;
}
