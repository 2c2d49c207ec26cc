// @ts-check
// npm run queue: installs and builds what is missing, then shows or retries the work of the service that the settings name.
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { prepare, root } from './prepare.mjs';

// Standard output is for what the command says.
await prepare(console.error);
await import(pathToFileURL(join(root, 'packages/server/dist/queue/main.js')).href);
