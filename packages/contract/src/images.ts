import { z } from 'zod';

/** The sides of a variant in pixels, after `dpr`. */
export const maxImageSide = 4096;

const fits = ['cover', 'contain', 'inside'] as const;
const formats = ['auto', 'webp', 'avif', 'jpeg', 'png'] as const;

const whole = (most: number, least = 1) => ({
  error: `must be a whole number from ${least} to ${most}`,
});

const side = z.int(whole(maxImageSide)).min(1, whole(maxImageSide)).max(maxImageSide, whole(maxImageSide));
const quality = z.int(whole(100)).min(1, whole(100)).max(100, whole(100));
const ratioError = { error: 'must be a number from 1 to 4' };
const pixelRatio = z.number(ratioError).min(1, ratioError).max(4, ratioError);

/** `center`, `attention`, or a point as fractions of width and height. */
const position = z
  .string()
  .regex(/^(?:center|attention|(?:0(?:\.\d{1,3})?|1(?:\.0{1,3})?),(?:0(?:\.\d{1,3})?|1(?:\.0{1,3})?))$/, {
    error: 'must be center, attention, or a point such as 0.5,0.25',
  })
  .meta({ examples: ['attention'] });

/** The name of a preset of a project. */
const presetName = z
  .string()
  .regex(/^[a-z0-9][a-z0-9_-]{0,31}$/, { error: 'must be 1 to 32 of a-z, 0-9, _ and -' })
  .meta({ examples: ['thumb'] });

const words = {
  w: `The width in pixels; with \`h\` alone, the proportions decide. With neither, the image keeps its size, up to ${maxImageSide} pixels a side.`,
  h: 'The height in pixels; with `w` alone, the proportions decide.',
  fit: '`cover` fills width and height and cuts off the rest, `contain` fits inside them and pads, `inside` fits inside them. `cover` by default.',
  pos: 'What `cover` keeps: the `center`, where the most happens (`attention`), or what is around a point, as fractions of width and height.',
  q: 'The quality from 1 to 100; 80 by default. PNG has none.',
  f: 'The format. `auto` is WebP for whoever accepts it, otherwise what they accept. `webp` by default.',
  dpr: 'Pixels of the screen to one of CSS: `w` and `h` are multiplied by it. It changes nothing without them.',
} as const;

const options = {
  w: side.optional().meta({ description: words.w }),
  h: side.optional().meta({ description: words.h }),
  fit: z
    .enum(fits, { error: `must be ${fits.join(' or ')}` })
    .optional()
    .meta({ description: words.fit }),
  pos: position.optional().meta({ description: words.pos }),
  q: quality.optional().meta({ description: words.q }),
  f: z
    .enum(formats, { error: `must be one of ${formats.join(', ')}` })
    .optional()
    .meta({ description: words.f }),
  dpr: pixelRatio.optional().meta({ description: words.dpr }),
};

/** A number in a query. @param form what is said of it there */
function inQuery(
  schema: z.ZodType<number, number>,
  error: string,
  form: { type: 'integer' | 'number'; minimum: number; maximum: number },
) {
  return z
    .string()
    .refine((text) => /^\d{1,4}(?:\.\d{1,2})?$/.test(text), { error })
    .meta(form)
    .transform(Number)
    .pipe(schema);
}

/** A side of a variant, in a query. */
export const sideInQuery = inQuery(side, whole(maxImageSide).error, {
  type: 'integer',
  minimum: 1,
  maximum: maxImageSide,
});

const optionsInQuery = {
  ...options,
  w: sideInQuery.optional().meta({ description: words.w }),
  h: sideInQuery.optional().meta({ description: words.h }),
  q: inQuery(quality, whole(100).error, { type: 'integer', minimum: 1, maximum: 100 })
    .optional()
    .meta({ description: words.q }),
  dpr: inQuery(pixelRatio, ratioError.error, { type: 'number', minimum: 1, maximum: 4 })
    .optional()
    .meta({ description: words.dpr }),
};

const preset = presetName.optional().meta({ description: 'A preset of the project, in place of all other options.' });

/** Unknown options are refused: a typo would make a variant other than the one that is wanted. */
const unknownOptions = {
  error: (issue: { code?: string | undefined; keys?: unknown }) =>
    issue.code === 'unrecognized_keys' && Array.isArray(issue.keys)
      ? `has unknown options: ${issue.keys.join(', ')}. There are ${Object.keys(options).join(', ')} and preset`
      : undefined,
};

type Asked = Partial<Record<'w' | 'h' | 'preset' | 'fit' | 'pos' | 'q' | 'f' | 'dpr', unknown>>;

function checkOptions({ value, issues }: { value: Asked; issues: { push(issue: z.core.$ZodRawIssue): void } }): void {
  const { preset: named, ...others } = value;
  if (named !== undefined && Object.values(others).some((one) => one !== undefined))
    issues.push({ code: 'custom', input: value, path: ['preset'], message: 'must be the only option' });
}

/** How an image is to be made, without a preset. */
export const PresetOptions = z.strictObject(options, unknownOptions);
/** How an image is to be made; with no option at all, as WebP of its own size. */
export const ImageOptions = z.strictObject({ ...options, preset }, unknownOptions).check(checkOptions);
/** The same in a query. */
export const ImageQuery = z.strictObject({ ...optionsInQuery, preset }, unknownOptions).check(checkOptions);
/**
 * The same for a link, which needs none: then it leads to the file, or to the image that the link was made with. What it does not know
 * is ignored, since whoever passes a link on may add to it (`fbclid`, `utm_source`).
 */
export const LinkQuery = z.object(optionsInQuery);

/** The most presets of a project. */
const maxImagePresets = 10;

export const ImagePresets = z
  .record(presetName, PresetOptions)
  .refine((presets) => Object.keys(presets).length <= maxImagePresets, {
    error: `must have at most ${maxImagePresets} presets`,
  })
  .meta({ description: 'Images that are made of every picture once it is recorded, by their names.' });

/** What is known of an image. */
export const ImageFacts = z.object({
  state: z.enum(['ready', 'unsupported', 'too_large', 'broken']).meta({
    description:
      'Whether variants can be made of it: `unsupported` if its format cannot be read, `too_large` if it would take too much memory, `broken` if its bytes are wrong. Then the other fields are null.',
  }),
  width: z.int().nullable().meta({ description: 'In pixels, upright.' }),
  height: z.int().nullable().meta({ description: 'In pixels, upright.' }),
  frames: z.int().nullable().meta({ description: 'More than one for an animation.' }),
  orientation: z.int().nullable().meta({ description: 'As its EXIF says, 1 to 8; variants are upright.' }),
  hasAlpha: z.boolean().nullable(),
  takenAt: z
    .string()
    .nullable()
    .meta({ description: 'When it was taken, in the local time of the camera, as `2026-08-01T12:00:00`.' }),
  hasLocation: z
    .boolean()
    .nullable()
    .meta({ description: 'Whether its EXIF or XMP says where it was taken, or may say it.' }),
  thumbhash: z.string().nullable().meta({ description: 'A ThumbHash of about 25 bytes in Base64, to show at once.' }),
});

export const SignedImageParams = z.object({ token: z.string().max(512), name: z.string().max(2048) });
