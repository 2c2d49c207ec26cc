import { resolve } from 'node:path';
import type { Run } from '../command.ts';
import { readWhole } from '../format.ts';

export const run: Run<'serve'> = async ({ env, cwd }, { options }) => {
  if (options.data !== undefined) env.CADIZ_DATA_DIR = resolve(cwd, options.data);
  if (options.port !== undefined) env.PORT = String(readWhole('port', options.port, 1, 65_535));
  if (env.npm_lifecycle_event === 'start' || env.npm_command === 'exec') stopWithParent();
  // It starts the service, and stops it on a signal.
  await import('@cadiz/server/serve');
};

/**
 * A signal to npm or npx reaches the shell in which it runs programs, and Debian's shell dies of it without telling its
 * child. Without this, the service would keep running unnoticed, and hold its port and data folder.
 */
function stopWithParent(): void {
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    process.kill(process.pid, 'SIGTERM');
  }, 250);
  timer.unref();
}
