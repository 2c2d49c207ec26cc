// @ts-check
// npm run dev: compiles on every change, and restarts the service when its code changes.
import { join } from 'node:path';
import { prepare, root, run } from './prepare.mjs';

await prepare();
const tsc = join(root, 'node_modules/typescript/bin/tsc');
const ended = await Promise.race([
  run(process.execPath, [tsc, '--build', '--watch', '--preserveWatchOutput']),
  run(process.execPath, ['--watch', '--watch-preserve-output', join(root, 'packages/server/dist/main.js')]),
]);
// Whichever of the two ends, the other is useless alone: `run` passes the signal on to it.
process.emit('SIGTERM', 'SIGTERM');
process.exitCode = ended;
