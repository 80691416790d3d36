import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { defineConfig, type Plugin } from 'vite';

// A static export has no server to send headers, so the built page carries its own policy: nothing but itself.
const POLICY = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self' blob:; " +
  "connect-src 'self' blob:; worker-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'";

const policy: Plugin = {
  name: 'policy',
  apply: 'build',
  transformIndexHtml: () => [{ tag: 'meta', attrs: { 'http-equiv': 'Content-Security-Policy', content: POLICY }, injectTo: 'head-prepend' }],
};

// The page's files for visits without a network: offline.js with the list of them. Another list is another version.
const offline: Plugin = {
  name: 'offline',
  apply: 'build',
  generateBundle: {
    order: 'post',
    handler(_, bundle) {
      const files = ['./', 'icon.svg', ...Object.keys(bundle).filter((name) => name !== 'index.html')].sort();
      const worker = readFileSync(new URL('offline.js', import.meta.url), 'utf8');
      const version = createHash('sha256').update(worker + JSON.stringify(files)).digest('hex').slice(0, 12);
      this.emitFile({ type: 'asset', fileName: 'offline.js', source: `const VERSION = 'pelt-${version}';\nconst FILES = ${JSON.stringify(files)};\n${worker}` });
    },
  },
};

// What only a page with the fitter needs is in a folder of its own, which other exports leave out.
const isFitter = (name: string | undefined) => /^(local|worker|pelt-fit)\b/.test(name ?? '');
const place = (name: string | undefined) => (isFitter(name) ? 'fit' : 'assets');

export default defineConfig({
  base: './', // works in any folder of any web server
  plugins: [policy, offline],
  worker: { format: 'es', rollupOptions: { output: { entryFileNames: 'fit/[name]-[hash].js', chunkFileNames: 'fit/[name]-[hash].js', assetFileNames: 'fit/[name]-[hash][extname]' } } },
  build: {
    target: 'es2022',
    assetsInlineLimit: 0, // data: URLs are not 'self'
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 1500,
    rollupOptions: {
      output: {
        chunkFileNames: ({ name }) => `${place(name)}/[name]-[hash].js`,
        assetFileNames: ({ names }) => `${place(names[0])}/[name]-[hash][extname]`,
      },
    },
  },
});
