import { z } from 'zod';

const utf8 = new TextEncoder();

/** A UUID of any version, in lower or upper case; it is passed on in lower case, as PostgreSQL prints it. */
export const uuid = z
  .string()
  .regex(/^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$/, { error: 'must be a UUID' })
  .toLowerCase()
  .meta({ format: 'uuid' });

/** A UUID in an answer: nothing to transform. */
export const uuidOut = z.string().meta({ format: 'uuid' });

/** ISO 8601 in UTC with milliseconds. */
export const timestampOut = z
  .string()
  .regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  .meta({ format: 'date-time', examples: ['2026-11-21T05:19:00.000Z'] });

// PostgreSQL refuses NUL, and silently stores a lone surrogate as U+FFFD: both are refused before they get there.
// biome-ignore lint/suspicious/noControlCharactersInRegex: finding control characters is the purpose
const controlCharacter = /[\u0000-\u001f\u007f-\u009f]/;

/** What is wrong with a string that people read, as the end of a sentence; undefined if nothing is. */
function textProblem(text: string, maxBytes: number): string | undefined {
  if (text.length === 0) return 'must not be empty';
  if (controlCharacter.test(text)) return 'must not contain control characters';
  if (!text.isWellFormed()) return 'must be well-formed Unicode (it has half of a surrogate pair)';
  // A UTF-16 unit takes one to three bytes, so most names can be judged without encoding them.
  if (text.length * 3 <= maxBytes) return undefined;
  const bytes = utf8.encode(text).length;
  return bytes > maxBytes ? `must be at most ${maxBytes} bytes of UTF-8, and has ${bytes}` : undefined;
}

/** What is wrong with the name of a file or folder, as the end of a sentence; undefined if nothing is. */
export function nameProblem(name: string): string | undefined {
  if (name.includes('/') || name.includes('\\')) return 'must not contain / or \\';
  if (name === '.' || name === '..') return 'must not be . or ..';
  return textProblem(name, 255);
}

function text(problem: (text: string) => string | undefined) {
  return z.string().check((context) => {
    const message = problem(context.value);
    if (message !== undefined) context.issues.push({ code: 'custom', input: context.value, message });
  });
}

/** 1–255 bytes of UTF-8, kept exactly as sent; no control character, slash, backslash or lone surrogate, not `.` or `..`. */
export const fileName = text(nameProblem).meta({ minLength: 1, maxLength: 255, examples: ['photo.jpg'] });

/** The same rules as for a file, since a folder can be downloaded as one. */
export const folderName = text(nameProblem).meta({ minLength: 1, maxLength: 255, examples: ['Holidays'] });

/** The names of nested folders, outermost first, with `/` between them. Answers the names. */
export const folderPath = text((path) => {
  const names = path.split('/');
  if (names.includes('')) return 'must have names with one / between them, and none at either end';
  const problem = names.map(nameProblem).find((found) => found !== undefined);
  return problem && `has a name that ${problem}`;
})
  .meta({ minLength: 1, examples: ['2026/Holidays'] })
  .transform((path) => path.split('/'));

/** What to search for in names: 1–255 bytes of UTF-8, without control characters. */
export const searchText = text((value) => textProblem(value, 255)).meta({
  minLength: 1,
  maxLength: 255,
  examples: ['holiday'],
});

/** An application's own id for a file: 1–255 bytes of UTF-8 without control characters. */
export const externalId = text((value) => textProblem(value, 255)).meta({
  minLength: 1,
  maxLength: 255,
  examples: ['order-4711'],
});

/** A label chosen by people: 1–200 bytes of UTF-8 without control characters. */
export const label = text((value) => textProblem(value, 200)).meta({ minLength: 1, maxLength: 200 });

const mimeTypeForm =
  /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+(?:[ \t]*;[ \t]*[\w!#$%&'*+.^`|~-]+=(?:[\w!#$%&'*+.^`|~-]+|"[\x20\x21\x23-\x5b\x5d-\x7e]*"))*$/;
const mimeTypeAtMost = 255;

/** `type/subtype` with optional parameters (RFC 9110 §8.3.1), at most 255 characters. */
export const mimeType = z
  .string()
  .max(mimeTypeAtMost, { error: 'must be at most 255 characters' })
  .regex(mimeTypeForm, { error: 'must be a media type such as image/png' })
  .meta({ examples: ['image/jpeg'] });

/** Whether `mimeType` accepts a string. */
export const isMimeType = (text: string): boolean => text.length <= mimeTypeAtMost && mimeTypeForm.test(text);

/** Bytes, from 0. The upper limit is a setting of the service. */
export const fileSize = z
  .number({ error: 'must be a whole number of bytes' })
  .int({ error: 'must be a whole number of bytes' })
  .min(0, { error: 'must not be negative' });

/** A limit in bytes, from 0. */
export const byteLimit = fileSize.meta({ examples: [10_737_418_240] });

const mimeTypePattern = z
  .string()
  .max(127, { error: 'must be at most 127 characters' })
  .regex(/^[\w!#$&^.+-]+\/(?:\*|[\w!#$&^.+-]+)$/, {
    error: 'must be a media type without parameters such as application/pdf, or a whole kind such as image/*',
  })
  .toLowerCase();

/** Media types such as `application/pdf`, and whole kinds such as `image/*`. */
export const allowedMimeTypes = z
  .array(mimeTypePattern, { error: 'must be a list of media types, or null for all of them' })
  .min(1, { error: 'must name at least one media type; null allows them all' })
  .max(100, { error: 'must name at most 100 media types' })
  .meta({ examples: [['image/*', 'application/pdf']] });

/** The key of an object, as issued by presign. */
export const storeKey = z
  .string()
  .min(1, { error: 'must not be empty' })
  .max(1024, { error: 'must be at most 1024 characters' })
  .meta({ examples: ['0199f3a0-0000-7000-8000-000000000000/1795238340000123456-photo.jpg'] });

/** The SHA-256 of a file in hex, if the client declares one; passed on in lower case. */
export const sha256 = z
  .string()
  .regex(/^[0-9a-fA-F]{64}$/, { error: 'must be a SHA-256 as 64 hexadecimal digits' })
  .toLowerCase()
  .optional();

/** A folder of the project, or null for its root. */
export const folderId = uuid.nullable();

/** A time that a client names. Its offset can move it out of the years that an answer can represent. */
export const timestamp = z.iso
  .datetime({ offset: true, error: 'must be an ISO 8601 time such as 2027-01-31T00:00:00Z' })
  .refine((text) => !isOutOfYears(new Date(text)), { error: 'must lie in the years 0000 to 9999 in UTC' });

/** A whole day in UTC. */
export const day = z.iso.date({ error: 'must be a day such as 2027-01-31' }).meta({ examples: ['2027-01-31'] });

function isOutOfYears(date: Date): boolean {
  return date.getUTCFullYear() < 0 || date.getUTCFullYear() > 9999;
}
