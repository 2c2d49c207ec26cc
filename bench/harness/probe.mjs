// @ts-check
// Preloaded into every measured process: reports what it has used on request, and never outlives the benchmark.
import { isMainThread } from 'node:worker_threads';

if (isMainThread) {
  process.on('message', () => process.send?.({ cpu: process.cpuUsage(), rss: process.memoryUsage.rss() }));
  process.on('disconnect', () => process.exit(0));
}
