import { setTimeout as delay } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** The bytes of all buffers still referenced. Dead ones are freed shortly after they are collected. */
export async function measureBuffers(): Promise<number> {
  for (let i = 0; i < 3; i += 1) {
    collect();
    await delay(5);
  }
  return process.memoryUsage().arrayBuffers;
}
