import { describe, expect, test } from 'vitest';
import { memoryToMake } from './memory.ts';
import type { RenderOptions } from './types.ts';

const webp: RenderOptions = { width: 100, height: 100, fit: 'inside', position: 'center', quality: 80, format: 'webp' };
const landscape = { width: 400, height: 200 };

describe('the memory to make a variant is that of the pixels that it will have', () => {
  test.each<[string, Partial<RenderOptions>, pixels: number]>([
    ['fitted into its box', {}, 100 * 50],
    ['cropped to its box', { fit: 'cover' }, 100 * 100],
    ['padded to its box', { fit: 'contain' }, 100 * 100],
    ['by its width', { width: 200, height: null }, 200 * 100],
    ['by its height', { width: null, height: 50 }, 100 * 50],
    ['of the size of the image', { width: null, height: null }, 400 * 200],
    ['not enlarged', { width: 4000, height: 4000 }, 400 * 200],
    ['not enlarged where it is cropped', { fit: 'cover', width: 4000, height: 50 }, 400 * 50],
    ['padded to a box that is larger than the image', { fit: 'contain', width: 4000, height: 4000 }, 4000 * 4000],
  ])('%s', (_, options, pixels) => {
    expect(memoryToMake({ ...webp, ...options }, landscape)).toBe(16 * pixels);
  });

  test.each([
    ['jpeg', 100, 10],
    ['png', 100, 10],
    ['avif', 1200, 40],
    ['avif', 1201, 25],
  ] as const)('in %s, %d pixels wide, %d bytes for each', (format, width, bytes) => {
    const made = memoryToMake({ ...webp, format, width, height: 100, fit: 'contain' }, landscape);
    expect(made).toBe(bytes * width * 100);
  });
});
