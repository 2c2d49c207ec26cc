// @ts-check
/// <reference lib="dom" />
import { existsSync } from 'node:fs';
import { chromium } from 'playwright-core';
import { atEnd } from './cleanup.mjs';

const executablePath = '/usr/bin/chromium';

/** @returns {Promise<import('playwright-core').Browser | undefined>} undefined if Chromium is not installed */
export async function openBrowser() {
  if (!existsSync(executablePath)) return undefined;
  const args = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking'];
  const browser = await chromium.launch({ executablePath, headless: true, args });
  atEnd(() => browser.close());
  return browser;
}

/**
 * The times between frames while something happens in a page.
 * @param {import('playwright-core').Page} page
 * @param {() => Promise<unknown>} work
 * @returns {Promise<number[]>} in milliseconds
 */
export async function framesDuring(page, work) {
  await page.evaluate(() => {
    /** @type {number[]} */
    const times = [];
    let last = performance.now();
    const step = () => {
      const now = performance.now();
      times.push(now - last);
      last = now;
      Object.assign(globalThis, { benchFrames: times, benchStep: requestAnimationFrame(step) });
    };
    requestAnimationFrame(step);
  });
  await work();
  return page.evaluate(() => {
    const { benchFrames, benchStep } = /** @type {{ benchFrames: number[], benchStep: number }} */ (
      /** @type {unknown} */ (globalThis)
    );
    cancelAnimationFrame(benchStep);
    return benchFrames;
  });
}
