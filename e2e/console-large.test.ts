import { randomBytes } from 'node:crypto';
import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { series } from '../scripts/series.mjs';
import { type ConsoleUnderTest, startConsole, triesJourneys } from './console-page.ts';

const size = series({ full: 5 * 1024 ** 3, short: 96 * 1024 ** 2 });

let tested: ConsoleUnderTest;

beforeAll(async () => {
  if (triesJourneys) tested = await startConsole();
});

afterAll(async () => {
  if (triesJourneys) await tested.stop();
});

describe.runIf(triesJourneys)('a file of the largest size', () => {
  test('goes up in parts from a page, without filling its memory, and comes down as it was', {
    timeout: 1200_000,
  }, async () => {
    const projectId = await tested.createProject('Large');
    const cadiz = await tested.connect(projectId);
    const folder = await mkdtemp(join(tmpdir(), 'cadiz-large-'));
    const path = join(folder, 'film.mov');
    const marks = [0, Math.floor(size / 3), size - 16].map((at) => ({ at, bytes: randomBytes(16) }));
    // Sparse: mostly of zeros that take no room.
    const file = await open(path, 'w');
    await file.truncate(size);
    for (const { at, bytes } of marks) await file.write(bytes, 0, bytes.length, at);
    await file.close();

    const page = await tested.openAsOwner(`/projects/${projectId}/files`);
    await page.locator('input[type=file][data-folder=false]').first().setInputFiles(path);
    await page.getByRole('heading', { name: '1 file uploaded' }).waitFor({ timeout: 1200_000 });
    const used = await page.evaluate(
      () => (performance as unknown as { memory: { usedJSHeapSize: number } }).memory.usedJSHeapSize,
    );
    expect(used).toBeLessThan(200 * 1024 ** 2);

    const { files } = await cadiz.files.page({});
    expect(files).toMatchObject([{ fileName: 'film.mov', fileSize: size }]);
    const { url } = await cadiz.files.url(files[0]?.id ?? '');
    for (const { at, bytes } of marks) {
      const answer = await fetch(url, { headers: { Range: `bytes=${at}-${at + bytes.length - 1}` } });
      expect(Buffer.from(await answer.arrayBuffer()).equals(bytes)).toBe(true);
    }
    expect(tested.complaints).toEqual([]);
    await page.context().close();
    await rm(folder, { recursive: true, force: true });
  });
});
