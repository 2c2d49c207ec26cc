import type { Page } from 'playwright-core';
import { findBarriers } from './console-page.ts';

/**
 * What somebody would trip over on a screen or dialog: in dark, in light and on a phone, where it must not be wider than
 * the window either.
 */
export async function findBarriersInAllLooks(page: Page): Promise<string[]> {
  const looks = [
    { name: 'dark', colorScheme: 'dark', width: 1440, height: 900 },
    { name: 'light', colorScheme: 'light', width: 1440, height: 900 },
    { name: 'phone', colorScheme: 'light', width: 390, height: 844 },
  ] as const;
  const found: string[] = [];
  for (const { name, colorScheme, width, height } of looks) {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width, height });
    // Colours that are still changing have a contrast of their own.
    await page.evaluate(() => Promise.allSettled(document.getAnimations().map(({ finished }) => finished)));
    found.push(...(await findBarriers(page)).map((barrier) => `${name}: ${barrier}`));
    const excess = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    if (excess > 0) found.push(`${name}: ${excess} pixels wider than the window`);
  }
  await page.setViewportSize({ width: 1440, height: 900 });
  return found;
}
