import react from '@vitejs/plugin-react';
import { defineConfig, type Plugin } from 'vite';

const stylesheet = /\n *<link rel="stylesheet"[^>]*>/;

/** Puts the stylesheet before the scripts: it comes first, and nothing is drawn without it. */
const stylesFirst: Plugin = {
  name: 'styles-first',
  transformIndexHtml: {
    order: 'post',
    handler(html) {
      const [link = ''] = stylesheet.exec(html) ?? [];
      return html.replace(link, '').replace(/\n *<script/, (script) => link + script);
    },
  },
};

export default defineConfig({
  plugins: [react(), stylesFirst],
  build: {
    outDir: 'dist/app',
    // The policy of the page allows no data: fonts or styles.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: 'es2023',
    // Every screen needs these: compressed together they are smaller than in files of their own.
    rolldownOptions: {
      output: {
        codeSplitting: {
          groups: [
            {
              name: 'framework',
              test: /node_modules\/(?:react|react-dom|scheduler|use-sync-external-store|@tanstack)\//,
            },
            {
              name: 'common',
              test: /src\/components\/(?:dialog|menu|problem|toast)\.tsx$/,
            },
            // The files and what they need, all of which is there before they are seen.
            { name: 'files', tags: ['$initial'], test: /src\/screens\/files\// },
          ],
        },
      },
    },
    // The licences of what is in the bundle, which travel with it.
    license: { fileName: 'licenses.md' },
  },
  // `npm run dev` of the console: its own server in front of a service that runs already.
  server: { proxy: { '/api': 'http://localhost:4000' } },
});
