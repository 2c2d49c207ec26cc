import type { ImageOptions } from '@cadiz/contract';
import { maxImageSide } from '@cadiz/contract';
import type { RenderOptions } from '@cadiz/images';
import type { z } from 'zod';

export type Options = z.output<typeof ImageOptions>;

type Format = RenderOptions['format'];

/** How a variant is made, in a canonical form: whatever asks for the same image asks for the same text. */
export interface Spec extends RenderOptions {
  text: string;
}

const defaultQuality = 80;

/**
 * The sizes of what anybody may ask for with the URL of a link, so that nobody can have any number of variants made: those
 * that screens and pages have.
 */
const ladder = [16, 32, 48, 64, 96, 128, 256, 384, 640, 750, 828, 1080, 1200, 1920, 2048, 3840];

/** The same options with each side on the ladder, the next larger one, the quality in steps of ten, and the point in tenths. */
export function snap({ w, h, q, pos, dpr = 1, ...rest }: Options): Options {
  const toStep = (side: number | undefined) =>
    side === undefined ? undefined : (ladder.find((step) => step >= side * dpr) ?? ladder.at(-1));
  return {
    ...rest,
    ...(w !== undefined && { w: toStep(w) }),
    ...(h !== undefined && { h: toStep(h) }),
    ...(q !== undefined && { q: Math.ceil(q / 10) * 10 }),
    ...(pos !== undefined && {
      pos: pos.replace(/[\d.]+/g, (fraction) => `${Math.round(Number(fraction) * 10) / 10}`),
    }),
  };
}

/** Whether the format depends on what the client accepts. */
export function isNegotiated({ f }: Options): boolean {
  return f === 'auto';
}

/**
 * Whether another client may get another format: said on errors as well, which a cache must not answer others with. What a
 * preset says is not known before it is looked up.
 */
export function mayVary({ f, preset }: Options): boolean {
  return f === 'auto' || preset !== undefined;
}

/**
 * Without a width and a height, the image keeps its size, within the largest sides that can be asked for: as a whole, one
 * of a large camera would take too much memory.
 * @param accept the client's header `Accept`, for `auto`
 */
export function toSpec(options: Options, accept?: string): Spec {
  const format = options.f === 'auto' ? negotiate(accept) : (options.f ?? 'webp');
  const { q = defaultQuality } = options;
  const { w, h, dpr = 1, fit: asked = 'cover' } = hasSide(options) ? options : largest;
  const toSide = (side: number | undefined) =>
    side === undefined ? null : Math.min(Math.max(Math.round(side * dpr), 1), maxImageSide);
  const [width, height] = [toSide(w), toSide(h)];
  // With one side, the proportions decide, and nothing is cut off.
  const fit = width === null || height === null ? 'inside' : asked;
  const position = fit === 'cover' ? toPosition(options.pos) : 'center';
  return withText({ width, height, fit, position, quality: format === 'png' ? 100 : q, format });
}

const largest: Options = { w: maxImageSide, h: maxImageSide, fit: 'inside' };

function hasSide({ w, h }: Options): boolean {
  return w !== undefined || h !== undefined;
}

/** The whole image in its own format, without its EXIF. */
export function toStrippedSpec(format: Format): Spec {
  return withText({ width: null, height: null, fit: 'inside', position: 'center', quality: 92, format });
}

function withText(spec: RenderOptions): Spec {
  const { width, height, fit, position, quality, format } = spec;
  const at = typeof position === 'string' ? position : `${position.x},${position.y}`;
  return { ...spec, text: [`w${width ?? ''}`, `h${height ?? ''}`, fit, at, `q${quality}`, format].join(' ') };
}

function toPosition(pos = 'center'): RenderOptions['position'] {
  if (pos === 'center' || pos === 'attention') return pos;
  const [x = 0, y = 0] = pos.split(',').map(Number);
  return x === 0.5 && y === 0.5 ? 'center' : { x, y };
}

/** How much a client wants each type, 0 to 1, by the header `Accept` (RFC 9110 §12.5.1). */
function readAccept(accept: string): Map<string, number> {
  const wanted = new Map<string, number>();
  for (const part of accept.toLowerCase().split(',')) {
    const [type = '', ...parameters] = part.split(';').map((text) => text.trim());
    const weight = parameters.find((text) => text.startsWith('q='));
    const q = weight === undefined ? 1 : Number(weight.slice(2));
    if (type !== '') wanted.set(type, Number.isFinite(q) ? q : 0);
  }
  return wanted;
}

/**
 * The format for a client: WebP if it accepts that, otherwise the first that it does accept; WebP too if it says nothing,
 * or accepts none of them. AVIF comes last: it takes ten times as long to make.
 */
function negotiate(accept: string | undefined): Format {
  if (accept === undefined || accept.trim() === '') return 'webp';
  const wanted = readAccept(accept);
  const weightOf = (format: Format) => wanted.get(`image/${format}`) ?? wanted.get('image/*') ?? wanted.get('*/*') ?? 0;
  return (['webp', 'jpeg', 'png', 'avif'] as const).find((format) => weightOf(format) > 0) ?? 'webp';
}
