import type { ImageOptions } from './types.ts';

/**
 * The URL of an image in another size and format, from that of a link to it. Anybody may ask for it, so sizes are
 * rounded up to those of a ladder: 16, 32, 48, 64, 96, 128, 256, 384, 640, 750, 828, 1080, 1200, 1920, 2048 and 3840.
 *
 * @example
 * img.src = imageUrl(link.url, { w: 640, f: 'auto' });
 */
export function imageUrl(linkUrl: string, options: Omit<ImageOptions, 'preset'>): string {
  const url = new URL(linkUrl);
  for (const [name, value] of Object.entries(options)) if (value !== undefined) url.searchParams.set(name, `${value}`);
  return url.href;
}

/**
 * A `srcset` of one image in several widths, from the URL of a link to it.
 *
 * @example
 * img.srcset = srcset(link.url, [640, 1080, 1920]);
 * img.sizes = '(max-width: 700px) 100vw, 700px';
 */
export function srcset(
  linkUrl: string,
  widths: readonly number[],
  options: Omit<ImageOptions, 'preset' | 'w' | 'h' | 'dpr'> = {},
): string {
  return widths.map((w) => `${imageUrl(linkUrl, { ...options, w })} ${w}w`).join(', ');
}
