// @ts-check
// npm run doctor, users and queue: installs and builds what is missing, then runs that command of `cadiz`.
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { prepare, root } from './prepare.mjs';

// Standard output is reserved for the output of the command.
await prepare(console.error);
// In this process rather than in a child: Ctrl-C must reach the code that cleans up.
await import(pathToFileURL(join(root, 'packages/cli/dist/main.js')).href);
