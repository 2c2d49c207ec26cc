import { spawn, spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, it } from 'vitest';
import { series } from '../scripts/series.mjs';
import { cleanUp, type Settings, startService, stopService, testedSettings } from './service.ts';

const walk = fileURLToPath(new URL('./walk.sh', import.meta.url));
const hasCurl = spawnSync('curl', ['--version']).error === undefined;

let settings: Settings = {};
afterEach(() => cleanUp(settings));

it.skipIf(!hasCurl)('walks from sign-up to listing with curl alone, and stops cleanly', async () => {
  settings = await testedSettings();
  // As people run it.
  const service = await startService(settings, { node: [] });
  const { code, output } = await runBash([walk, service.url]);
  expect(output).toContain('16 files, 1 folder, each once');
  const { S3_ENDPOINT, S3_BUCKET } = settings;
  if (S3_ENDPOINT) expect(output).toContain(`${S3_ENDPOINT}/${S3_BUCKET}\n`);
  expect(code, output).toBe(0);
  const exit = await stopService(service);
  expect(exit.code, exit.stderr).toBe(0);
  expect(exit.stdout + exit.stderr).not.toMatch(/cz_live_[0-9A-Za-z]{49}/);
});

it.skipIf(!hasCurl)('prints a transcript that works as pasted', async () => {
  settings = await testedSettings();
  const service = await startService(settings, { node: [] });
  const transcript = service.welcome.slice(service.welcome.indexOf('CADIZ='));
  const { code, output } = await runBash(['-e', '-c', transcript]);
  expect(output).toMatch(/"files":\[\{[^[\]]*"fileName":"hello\.txt"[^[\]]*\}\]/);
  expect(code, output).toBe(0);
  expect((await stopService(service)).code).toBe(0);
});

async function runBash(args: string[]): Promise<{ code: number | null; output: string }> {
  // The transcript leaves files behind, as it would for a person.
  const cwd = await mkdtemp(join(tmpdir(), 'cadiz-paste-'));
  const env = { ...process.env, WALK_VIDEO_MB: series({ full: '110', short: '20' }) };
  const child = spawn('bash', args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text) => {
      output += text;
    });
  }
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  await rm(cwd, { recursive: true });
  return { code, output };
}
