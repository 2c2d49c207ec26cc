import type { z } from 'zod';
import { parseJson } from '../parse-json.ts';
import { Problem } from '../problem.ts';

/** An opaque string for `nextCursor`. */
export function toCursorText(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

/** The value that `toCursorText` was given, or undefined if the string does not have that form. */
export function readCursorText<T extends z.ZodType>(schema: T, text: string): z.output<T> | undefined {
  return schema.safeParse(parseJson(Buffer.from(text, 'base64url').toString())).data;
}

/** @param message what is wrong, as in `is not a nextCursor of this service` */
export function invalidCursor(message: string): Problem {
  return new Problem('invalid_request', `cursor ${message}.`, { issues: [{ path: 'cursor', message }] });
}
