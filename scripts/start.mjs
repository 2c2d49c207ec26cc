// @ts-check
// npm start: installs and builds what is missing, then becomes the service: `cadiz serve`.
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { prepare, root } from './prepare.mjs';

await prepare();
process.argv.splice(2, 0, 'serve');
// In this process rather than in a child: signals reach the service itself, and nothing can outlive it.
await import(pathToFileURL(join(root, 'packages/cli/dist/main.js')).href);
