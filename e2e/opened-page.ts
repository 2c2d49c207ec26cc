import { setTimeout as delay } from 'node:timers/promises';
import type { Page } from 'playwright-core';

/** Opens a URL, waits until it is displayed or saved, and gives scripts time to run. */
export async function open(page: Page, url: string): Promise<'shown' | 'saved'> {
  const download = page.waitForEvent('download', { timeout: 60_000 }).then(() => 'saved' as const);
  download.catch(() => undefined);
  // A navigation that turns into a download fails as a navigation before the page hears of the download.
  const outcome = await page.goto(url, { waitUntil: 'load' }).then(
    () => 'shown' as const,
    (error: Error) => {
      if (!/Download is starting|ERR_ABORTED/.test(error.message)) throw error;
      return download;
    },
  );
  await delay(150);
  return outcome;
}

/** Whether a script has set `globalThis.ran` in a page, or in a frame of it. */
export async function isMarked(page: Page): Promise<boolean> {
  const marks = await Promise.all(
    page.frames().map((frame) => frame.evaluate(() => 'ran' in globalThis).catch(() => false)),
  );
  return marks.includes(true);
}
