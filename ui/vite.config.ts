import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig } from 'vitest/config';

import { manifest } from './build/manifest';

/** A running service, for `npm run dev`: its page is served by Vite, and all other requests go there. */
const service = process.env['SPANWISE_URL'] ?? 'http://127.0.0.1:7777';

export default defineConfig({
  base: './',
  plugins: [svelte(), manifest()],
  // The page is served at `<prefix>/ui` and its files below that, so the page names them with `ui/`.
  experimental: {
    renderBuiltUrl: (filename, { hostType }) => (hostType === 'html' ? `./ui/${filename}` : { relative: true }),
  },
  build: {
    outDir: '../python/spanwise/ui/dist',
    emptyOutDir: true,
    target: 'es2022',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    license: { fileName: 'THIRD_PARTY.txt' },
    reportCompressedSize: true,
    // Code that three screens share is one file: a dozen requests take longer than one download.
    rolldownOptions: {
      output: { codeSplitting: { groups: [{ name: 'shared', test: /[\\/]src[\\/]/, minShareCount: 3 }] } },
    },
  },
  server: {
    proxy: {
      '^/(?!$|[?@]|index\\.html|src/|node_modules/)': {
        target: service,
        changeOrigin: true,
        // The service refuses requests that come from the page of another origin.
        configure: (proxy) => proxy.on('proxyReq', (request) => request.removeHeader('origin')),
      },
    },
  },
  test: { include: ['src/**/*.test.ts'], environment: 'node' },
});
