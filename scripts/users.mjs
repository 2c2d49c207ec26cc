// @ts-check
// npm run users: installs and builds what is missing, then manages the accounts of the service in the settings.
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { prepare, root } from './prepare.mjs';

// Standard output is reserved for the output of the command.
await prepare(console.error);
await import(pathToFileURL(join(root, 'packages/server/dist/users/main.js')).href);
