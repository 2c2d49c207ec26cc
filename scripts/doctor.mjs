// @ts-check
// npm run doctor: installs and builds what is missing, then tests the object store that the settings name.
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { prepare, root } from './prepare.mjs';

// Standard output is for what the doctor finds.
await prepare(console.error);
// In this process rather than in a child: Ctrl-C must reach whoever tidies up.
await import(pathToFileURL(join(root, 'packages/server/dist/doctor/main.js')).href);
