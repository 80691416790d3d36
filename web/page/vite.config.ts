import { defineConfig, type Plugin } from 'vite';

// A static export has no server to send headers, so the built page carries its own policy: nothing but itself.
const POLICY = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self' blob:; " +
  "connect-src 'self' blob:; worker-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'";

const policy: Plugin = {
  name: 'policy',
  apply: 'build',
  transformIndexHtml: () => [{ tag: 'meta', attrs: { 'http-equiv': 'Content-Security-Policy', content: POLICY }, injectTo: 'head-prepend' }],
};

export default defineConfig({
  base: './', // works in any folder of any web server
  plugins: [policy],
  build: {
    target: 'es2022',
    assetsInlineLimit: 0, // data: URLs are not 'self'
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 1500,
  },
});
