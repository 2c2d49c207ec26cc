// @ts-check
// npm run doctor: installs and builds what is missing, then tests the object store in the settings.
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { prepare, root } from './prepare.mjs';

// Standard output is reserved for the findings of the doctor.
await prepare(console.error);
// In this process rather than in a child: Ctrl-C must reach the code that cleans up.
await import(pathToFileURL(join(root, 'packages/server/dist/doctor/main.js')).href);
