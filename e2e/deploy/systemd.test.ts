import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { createClient } from '@cadiz/client';
import sharp from 'sharp';
import { afterEach, describe, expect, test } from 'vitest';
import { signUpOwner } from '../client-account.ts';
import { cleanUp, embeddedSettings, type Settings, startService, stopService } from '../service.ts';
import { hasPrograms, isAsked } from './programs.ts';

const run = promisify(execFile);
const unit = fileURLToPath(new URL('../../deploy/systemd/cadiz.service', import.meta.url));
const hasAnalyze = hasPrograms('the rating of the systemd unit', { 'systemd-analyze': '--version' });

/** The highest exposure that is accepted, times ten: a unit without any restriction has 96. */
const highestExposure = 15;

test.runIf(hasAnalyze)('the systemd unit exposes little', async () => {
  // It ends with 1 above the threshold.
  const { stdout } = await run('systemd-analyze', [
    'security',
    '--no-pager',
    '--offline=true',
    `--threshold=${highestExposure}`,
    unit,
  ]);
  expect(stdout).toContain('Overall exposure level for cadiz.service');
});

test('the systemd unit waits for what is in progress', () => {
  const seconds = Number(/^TimeoutStopSec=(\d+)$/m.exec(readFileSync(unit, 'utf8'))?.[1]);
  // DRAIN_DELAY_SECONDS and DRAIN_SECONDS, as they are if they are not set.
  expect(seconds).toBeGreaterThan(7 + 30);
});

test('the systemd unit goes on when Linux has ended what makes images', () => {
  expect(readFileSync(unit, 'utf8')).toMatch(/^OOMPolicy=continue$/m);
});

let settings: Settings = {};
afterEach(() => cleanUp(settings));

const canTrace =
  isAsked && hasAnalyze && hasPrograms('what the systemd unit lets the service ask of Linux', { strace: '--version' });

describe.runIf(canTrace)('the systemd unit', () => {
  test('allows every system call of a service that makes an image', async () => {
    settings = await embeddedSettings();
    const counts = join(settings.CADIZ_DATA_DIR ?? tmpdir(), '../calls');
    // With -D the service is our own child, and gets our signal.
    const service = await startService(settings, {
      under: ['strace', '-D', '-f', '-qq', '-c', '-S', 'name', '-o', counts],
    });
    await makeVariant(service.url);
    expect((await stopService(service)).code).toBe(0);
    const called = await readCalls(counts);
    expect(called).toContain('setpriority');

    const allowed = await allowedCalls();
    expect(allowed).not.toContain('ptrace');
    expect(called.filter((call) => !allowed.includes(call))).toEqual([]);
    await rm(counts);
  });
});

async function makeVariant(baseUrl: string): Promise<void> {
  const { apiKey } = await (await signUpOwner(baseUrl)).createProject('Pictures');
  const cadiz = createClient({ baseUrl, apiKey });
  const picture = sharp({ create: { width: 320, height: 200, channels: 3, background: 'teal' } });
  const bytes = new Uint8Array(await picture.png().toBuffer());
  const file = await cadiz.upload(new File([bytes], 'teal.png', { type: 'image/png' }));
  const url = `${baseUrl}/api/storage/files/${file.id}/image?w=64`;
  await expect
    .poll(async () => (await fetch(url, { headers: { authorization: `Bearer ${apiKey}` }, redirect: 'manual' })).status)
    .toBe(302);
}

/** The names in a summary of strace, which is written when the last process has ended. */
async function readCalls(path: string): Promise<string[]> {
  for (;;) {
    const lines = readFileSync(path, 'utf8').split('\n');
    if (lines.some((line) => line.endsWith(' total'))) {
      const names = lines.map((line) => line.trim().split(/\s+/).at(-1) ?? '');
      return names.filter((name) => /^[a-z]\w*$/.test(name) && name !== 'syscall' && name !== 'total');
    }
    await delay(100);
  }
}

/** What is left of the filters of the unit, applied in their order. */
async function allowedCalls(): Promise<string[]> {
  const { stdout } = await run('systemd-analyze', ['syscall-filter', '--no-pager']);
  // A line for each set, and under it an indented one for each of its members.
  const blocks = stdout.split(/^(?=@)/m).map((block) => block.split('\n').map((line) => line.trim()));
  const sets = new Map(blocks.map(([name = '', ...lines]) => [name, lines.filter((line) => /^[@\w]/.test(line))]));
  const expand = (name: string): string[] => (name.startsWith('@') ? (sets.get(name) ?? []).flatMap(expand) : [name]);
  let allowed: string[] = [];
  for (const [, without, names = ''] of readFileSync(unit, 'utf8').matchAll(/^SystemCallFilter=(~?)(.+)$/gm)) {
    const named = names.split(' ').flatMap(expand);
    allowed = without ? allowed.filter((call) => !named.includes(call)) : [...allowed, ...named];
  }
  return [...allowed, ...expand('@default')];
}
