import { spawn, spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, it } from 'vitest';
import { cleanUp, type Settings, startService, stopService, testedSettings } from './service.ts';

const walk = fileURLToPath(new URL('./walk.sh', import.meta.url));
const hasCurl = spawnSync('curl', ['--version']).error === undefined;

let settings: Settings = {};
afterEach(() => cleanUp(settings));

it.skipIf(!hasCurl)(
  'walks from sign-up to listing with curl alone, and stops cleanly',
  { timeout: 180_000 },
  async () => {
    settings = await testedSettings();
    const service = await startService(settings);
    const { code, output } = await runWalk(service.url);
    expect(output).toContain('16 files, 1 folder, each once');
    expect(code, output).toBe(0);
    const exit = await stopService(service);
    expect({ code: exit.code, stderr: exit.stderr }).toEqual({ code: 0, stderr: '' });
    expect(exit.stdout).not.toMatch(/cz_live_[0-9A-Za-z]{49}/);
  },
);

function runWalk(url: string): Promise<{ code: number | null; output: string }> {
  const child = spawn('bash', [walk, url], { stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text) => {
      output += text;
    });
  }
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, output }));
  });
}
