// @ts-check
// The object store on its own: how it scales, and how fast it is compared with cp, nginx and Ceph RGW on the same disk.
// npm run bench -- store; BENCH_STORE=large,small,scale,memory,presign runs some of its parts.

import { bench } from './harness/cleanup.mjs';
import { benchLargeObjects } from './harness/store-large.mjs';
import { benchMemory } from './harness/store-memory.mjs';
import { benchPresign } from './harness/store-presign.mjs';
import { benchScale } from './harness/store-scale.mjs';
import { describeStoreBench } from './harness/store-servers.mjs';
import { benchSmallObjects } from './harness/store-small.mjs';

const parts = {
  large: benchLargeObjects,
  small: benchSmallObjects,
  scale: benchScale,
  memory: benchMemory,
  presign: benchPresign,
};

await bench(async () => {
  describeStoreBench();
  const asked = process.env.BENCH_STORE?.split(',');
  for (const [name, run] of Object.entries(parts)) if (!asked || asked.includes(name)) await run();
});
