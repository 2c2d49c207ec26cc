import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';

// `lmdb` lets only one transaction write at a time, across all processes.
const script = `
  const { readSync } = require('node:fs');
  const { open } = require('lmdb');
  const [folder, removed] = process.argv.slice(1);
  const root = open({ path: folder, noSubdir: false, maxDbs: 16 });
  const buckets = root.openDB({ name: 'buckets', encoding: 'json' });
  const uploads = root.openDB({ name: 'uploads', encoding: 'json', keyEncoding: 'binary' });
  root.transactionSync(() => {
    if (removed) {
      buckets.remove(removed);
      const range = { start: Buffer.from(removed + '\\0'), end: Buffer.from(removed + '\\x01') };
      for (const key of [...uploads.getKeys(range)]) uploads.remove(key);
    }
    process.stdout.write('held');
    readSync(0, Buffer.alloc(1));
  });
  root.close();
`;

/**
 * Keeps a running store from writing to its index, as a slow disk would, until `release` is called.
 *
 * @param removedBucket - a bucket that is removed, with its uploads, by the time the store can write again
 */
export async function holdIndex(folder: string, removedBucket = ''): Promise<{ release(): Promise<void> }> {
  const child = spawn(process.execPath, ['-e', script, `${folder}/index`, removedBucket], {
    cwd: fileURLToPath(new URL('..', import.meta.url)),
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const exited = once(child, 'exit');
  await Promise.race([
    once(child.stdout, 'data'),
    exited.then(([code]) => Promise.reject(new Error(`The index could not be held: exit code ${code}.`))),
  ]);
  return {
    release: async () => {
      child.stdin.end('.');
      await exited;
    },
  };
}
