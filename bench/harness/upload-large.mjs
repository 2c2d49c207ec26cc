// @ts-check
// Uploads one file from disk, and prints how long that took and how much memory this program used at most.
import { readFileSync } from 'node:fs';
import { createClient, openFile } from '@cadiz/client/node';

const { CADIZ_URL: baseUrl = '', CADIZ_API_KEY: apiKey = '' } = process.env;
const cadiz = createClient({ baseUrl, apiKey });
const started = performance.now();
await cadiz.upload(await openFile(process.argv[2] ?? ''));
const seconds = (performance.now() - started) / 1000;
console.log(JSON.stringify({ seconds, peakMebibytes: Math.round(peakKibibytes() / 1024) }));

/** Not `maxRSS` of `process.resourceUsage`, which is that of the program that started this one if it was larger. */
function peakKibibytes() {
  return Number(/VmHWM:\s+(\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]);
}
