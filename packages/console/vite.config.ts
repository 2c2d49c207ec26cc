import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

export default defineConfig({
  plugins: [react()],
  build: {
    outDir: 'dist/app',
    // The policy of the page allows no data: fonts or styles.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: 'es2023',
    // The licences of what is in the bundle, which travel with it.
    // Every screen needs these: compressed together they are smaller than in files of their own.
    rolldownOptions: {
      output: {
        codeSplitting: {
          groups: [
            {
              name: 'framework',
              test: /node_modules\/(?:react|react-dom|scheduler|use-sync-external-store|@tanstack)\//,
            },
          ],
        },
      },
    },
    license: { fileName: 'licenses.md' },
  },
  // `npm run dev` of the console: its own server in front of a service that runs already.
  server: { proxy: { '/api': 'http://localhost:4000' } },
});
