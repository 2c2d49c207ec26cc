// @ts-check
// npm start: installs and builds what is missing, then becomes the service.
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { prepare, root } from './prepare.mjs';

await prepare();
if (process.env.npm_lifecycle_event === 'start') stopWithParent();
// In this process rather than in a child: signals reach the service itself, and nothing can outlive it.
await import(pathToFileURL(join(root, 'packages/server/dist/main.js')).href);

/**
 * A signal to npm reaches the shell in which npm runs scripts, and Debian's shell dies of it without telling its child.
 * Without this, the service would keep running unnoticed, and hold its port and data folder.
 */
function stopWithParent() {
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    process.kill(process.pid, 'SIGTERM');
  }, 250);
  timer.unref();
}
