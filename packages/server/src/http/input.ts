import type { Context } from 'hono';
import type { z } from 'zod';
import { type Issue, Problem } from '../problem.ts';

export const maxBodyBytes = 64 * 1024;

/** Refuses by `Content-Length` alone, before anything is read. @throws Problem body_too_large */
export function requireSmallBody(c: Context): void {
  if (Number(c.req.header('content-length') ?? 0) > maxBodyBytes) throw new Problem('body_too_large');
}

/**
 * The JSON body, checked against its schema.
 * @throws Problem unsupported_media_type, body_too_large, invalid_request with every wrong field
 */
export async function readBody<T extends z.ZodType>(c: Context, schema: T): Promise<z.output<T>> {
  if (!/^application\/json\s*(?:;|$)/i.test(c.req.header('content-type') ?? '')) {
    throw new Problem('unsupported_media_type');
  }
  const text = c.req.header('transfer-encoding') === undefined ? await c.req.text() : await readLimited(c.req.raw);
  return check(schema, parseJson(text));
}

/** The query, each name once. @throws Problem invalid_request */
export function readQuery<T extends z.ZodType>(c: Context, schema: T): z.output<T> {
  return check(schema, c.req.query());
}

/** The parameters of the path. @throws Problem invalid_request */
export function readParams<T extends z.ZodType>(c: Context, schema: T): z.output<T> {
  return check(schema, c.req.param());
}

/** A chunked body tells its size only by arriving. */
async function readLimited(request: Request): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of request.body ?? []) {
    size += chunk.length;
    if (size > maxBodyBytes) throw new Problem('body_too_large');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    const message = text === '' ? 'is empty' : `is not JSON: ${(cause as Error).message}`;
    throw new Problem('invalid_request', `The body ${message}.`, { issues: [{ path: '', message }], cause });
  }
}

function check<T extends z.ZodType>(schema: T, value: unknown): z.output<T> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const issues = result.error.issues.map(toIssue);
  const [first] = issues;
  const more = issues.length > 1 ? ` (and ${issues.length - 1} more)` : '';
  throw new Problem('invalid_request', `${first?.path || 'The body'} ${first?.message}${more}.`, { issues });
}

const typeNames: Record<string, string> = {
  string: 'a text',
  number: 'a number',
  array: 'a list',
  object: 'an object',
};

function toIssue(issue: z.core.$ZodIssue): Issue {
  return { path: issue.path.join('.'), message: toMessage(issue) };
}

/** Our own messages say what is wrong already; zod's default for a wrong or missing type gets words like them. */
function toMessage(issue: z.core.$ZodIssue): string {
  if (issue.code === 'invalid_type' && issue.message.startsWith('Invalid input')) {
    if (issue.input === undefined) return 'is missing';
    return `must be ${typeNames[issue.expected] ?? issue.expected}`;
  }
  return issue.message;
}
