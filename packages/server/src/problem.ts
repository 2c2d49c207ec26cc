import { type ErrorCode, errorCatalogue } from '@cadiz/contract';

export interface Issue {
  path: string;
  message: string;
}

/** Thrown by an operation that cannot do what was asked: one entry of the error catalogue, with its particulars. */
export class Problem extends Error {
  readonly code: ErrorCode;
  readonly issues: Issue[] | undefined;
  readonly headers: Record<string, string>;
  readonly extra: Record<string, unknown>;

  /** @param detail a sentence for the caller about this very request; by default the catalogue's title */
  constructor(
    code: ErrorCode,
    detail?: string,
    options: {
      issues?: Issue[];
      headers?: Record<string, string>;
      extra?: Record<string, unknown>;
      cause?: unknown;
    } = {},
  ) {
    super(detail ?? errorCatalogue[code].title, { cause: options.cause });
    this.name = 'Problem';
    this.code = code;
    this.issues = options.issues;
    this.headers = options.headers ?? {};
    this.extra = options.extra ?? {};
  }

  get status(): number {
    return errorCatalogue[this.code].status;
  }
}

/** What became of one entry of a batch: its answer, or why it failed. */
export type Outcome<T> = T | Problem;

/** The answer, or the Problem that was thrown for it; any other error is thrown on. */
export async function settle<T>(answer: Promise<T> | T): Promise<Outcome<Awaited<T>>> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof Problem) return error;
    throw error;
  }
}

/** Like `settle`, but for refusals only: a Problem that is the service's own (5xx) is thrown on. */
export async function settleRefusal<T>(answer: Promise<T>): Promise<Outcome<Awaited<T>>> {
  const outcome = await settle(answer);
  if (outcome instanceof Problem && outcome.status >= 500) throw outcome;
  return outcome;
}

/** Like `settle`, for what needs no waiting. */
export function attempt<T>(run: () => T): Outcome<T> {
  try {
    return run();
  } catch (error) {
    if (error instanceof Problem) return error;
    throw error;
  }
}

/**
 * The answers of a batch of which all must succeed.
 * @param list the field of the request with the entries
 * @throws Problem the first of them, which says in `issues` which entry it is about
 */
export function requireAll<T>(outcomes: readonly Outcome<T>[], list: string): T[] {
  return outcomes.map((outcome, index) => {
    if (outcome instanceof Problem) throw ofEntry(outcome, `${list}.${index}`);
    return outcome;
  });
}

/** A problem of one entry as the answer to the whole request: `issues` names the entry. */
export function ofEntry({ code, message, headers, extra, cause }: Problem, path: string): Problem {
  return new Problem(code, message, { headers, extra, cause, issues: [{ path, message }] });
}
