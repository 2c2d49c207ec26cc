import { S3Error } from './s3-error.ts';

/** What a form may contain ("Creating a POST policy" in the Amazon S3 API reference). Names are in lower case. */
export interface PostPolicy {
  /** Unix milliseconds */
  expiresAt: number;
  conditions: FieldCondition[];
  /** size of the file, in bytes */
  minBytes: number;
  maxBytes: number;
}

interface FieldCondition {
  kind: 'eq' | 'starts-with';
  field: string;
  value: string;
}

const notCovered = new Set(['policy', 'x-amz-signature', 'file']);
const isoTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z$/;

/**
 * Reads a Base64 policy document.
 *
 * @throws S3Error InvalidPolicyDocument
 */
export function readPolicy(base64: string): PostPolicy {
  const { expiration, conditions } = parse(base64);
  const expiresAt = typeof expiration === 'string' && isoTime.test(expiration) ? Date.parse(expiration) : Number.NaN;
  if (Number.isNaN(expiresAt)) throw invalid('expiration must be a time such as 2026-12-01T12:00:00.000Z');
  if (!Array.isArray(conditions)) throw invalid('conditions must be a list');
  const policy: PostPolicy = { expiresAt, conditions: [], minBytes: 0, maxBytes: Number.MAX_SAFE_INTEGER };
  for (const condition of conditions as unknown[]) addCondition(policy, condition);
  return policy;
}

function parse(base64: string): Record<string, unknown> {
  try {
    const parsed: unknown = JSON.parse(Buffer.from(base64, 'base64').toString());
    if (isRecord(parsed)) return parsed;
  } catch {
    // Reported below.
  }
  throw invalid('it must be the Base64 of a JSON object');
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function addCondition(policy: PostPolicy, condition: unknown): void {
  if (isRecord(condition)) {
    const [pair, another] = Object.entries(condition);
    if (!pair || another) throw invalid('a condition that is an object must have one field');
    policy.conditions.push({ kind: 'eq', field: pair[0].toLowerCase(), value: requireText(pair[1]) });
    return;
  }
  if (!Array.isArray(condition) || condition.length !== 3)
    throw invalid('a condition must be an object or a list of three');
  const [name, first, second] = condition as unknown[];
  const kind = typeof name === 'string' ? name.toLowerCase() : '';
  if (kind === 'content-length-range') {
    policy.minBytes = Math.max(policy.minBytes, requireCount(first));
    policy.maxBytes = Math.min(policy.maxBytes, requireCount(second));
    return;
  }
  const field = requireText(first);
  if ((kind !== 'eq' && kind !== 'starts-with') || !/^\$./s.test(field)) {
    throw invalid('a condition must be ["eq" or "starts-with", "$field", value] or ["content-length-range", min, max]');
  }
  policy.conditions.push({ kind, field: field.slice(1).toLowerCase(), value: requireText(second) });
}

function requireText(value: unknown): string {
  if (typeof value === 'string') return value;
  throw invalid('fields and values of conditions must be strings');
}

function requireCount(value: unknown): number {
  const count = typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value;
  if (typeof count === 'number' && Number.isSafeInteger(count) && count >= 0) return count;
  throw invalid('the bounds of content-length-range must be whole numbers');
}

/**
 * Checks a form against its policy: not expired, every condition met, and every field named by one, except for
 * `x-ignore-…`.
 *
 * @param fields - their values as text, by their name in lower case, and the bucket that the form was sent to
 * @throws S3Error AccessDenied
 */
export function requireAllowed(policy: PostPolicy, fields: ReadonlyMap<string, string>, now: number): void {
  if (now >= policy.expiresAt) {
    throw denied(`it expired ${Math.floor((now - policy.expiresAt) / 1000)} s ago. Ask for a new form`);
  }
  for (const condition of policy.conditions) {
    if (!isMet(condition, fields.get(condition.field))) {
      const { kind, field, value } = condition;
      throw denied(
        `it requires ${JSON.stringify([kind, `$${field}`, value])}, but the form has another ${field} or none`,
      );
    }
  }
  const named = new Set(policy.conditions.map(({ field }) => field));
  for (const field of fields.keys()) {
    if (named.has(field) || notCovered.has(field) || field.startsWith('x-ignore-')) continue;
    throw denied(`no condition names the field ${field}`);
  }
}

function isMet({ kind, value }: FieldCondition, sent: string | undefined): boolean {
  if (sent === undefined) return false;
  return kind === 'eq' ? sent === value : sent.startsWith(value);
}

function invalid(what: string): S3Error {
  return new S3Error('InvalidPolicyDocument', `The policy is invalid: ${what}.`);
}

function denied(why: string): S3Error {
  return new S3Error('AccessDenied', `The policy does not allow this form: ${why}.`);
}
