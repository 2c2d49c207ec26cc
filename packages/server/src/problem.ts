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
