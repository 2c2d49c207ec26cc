import { type CadizError, type ErrorCode, isCadizError } from '@cadiz/client';
import { CircleAlert } from 'lucide-react';
import type { ReactNode } from 'react';
import { formatUntil } from '../format.ts';
import { findWords } from '../text/find-words.ts';
import { text } from '../text/text.ts';
import { CopyButton } from './copy-button.tsx';

/**
 * What the service says of an error, or of one field, in the reader's language; undefined where there are no words for it but those
 * of the service, which are English.
 */
function translate({ code, issues }: CadizError, issue = issues[0]): string | undefined {
  const { codes, fields } = text.errors;
  return code === 'invalid_request' ? findWords(fields, issue?.path ?? '') : codes[code as ErrorCode];
}

/** What happened, in the words of the service, or in those of the console if the service has not answered; and when to try again. */
export function messageOf(error: unknown): string {
  if (!isCadizError(error)) return error instanceof Error ? error.message : String(error);
  const { code, status, message } = error;
  const { unreachable, unexpected, tryAgain, tryAfter } = text.errors;
  if (code === 'network_failed' || code === 'timed_out') return `${unreachable} ${tryAgain}`;
  const until = waitOf(error);
  // The SDK's words are for programmers, and end with what a proxy has said.
  const isUnexpected = code === 'unexpected_answer';
  const reason = isUnexpected ? unexpected(status) : (translate(error) ?? message);
  if (until !== undefined) return `${reason} ${tryAfter(formatUntil(until))}`;
  return isUnexpected ? `${reason} ${tryAgain}` : reason;
}

/** A wait that is shorter is over once somebody has read of it, in seconds. */
const shortestWait = 10;

const waits = new WeakMap<CadizError, number>();

/** Until when the service wants to be left alone after an error that has just been shown (Unix milliseconds); undefined if that is soon. */
function waitOf(error: CadizError): number | undefined {
  const { retryAfter = 0 } = error;
  if (retryAfter > shortestWait && !waits.has(error)) waits.set(error, Date.now() + retryAfter * 1000);
  return waits.get(error);
}

/** What a helper needs to know about an error; undefined if it is not an answer of the service. */
export const detailsOf = (error: unknown): string | undefined =>
  isCadizError(error) && error.requestId ? `${error.code} ${error.requestId}: ${error.message}` : undefined;

/** The problem of a field of a form, or of an entry of its list, by the path that the service names. */
export function problemOf(error: unknown, field: string): string | undefined {
  if (!isCadizError(error)) return undefined;
  const issue = error.issues.find(({ path }) => path === field || path.startsWith(`${field}.`));
  return issue && (translate(error, issue) ?? issue.message);
}

/** An error: what happened, what to do, and the request id, copied in one click. */
export function ProblemNote({ error, action }: { error: unknown; action?: ReactNode }) {
  if (!error) return null;
  const details = detailsOf(error);
  return (
    <div className="note bad" role="alert">
      <CircleAlert className="i" aria-hidden="true" />
      <div className="grow stack g1">
        <span>{messageOf(error)}</span>
        {isCadizError(error) && (
          <span className="line wrap cap second">
            <span className="mono">{error.code}</span>
            {details && (
              <>
                <span>{text.errors.requestId}</span>
                <span className="mono">{error.requestId}</span>
                <CopyButton value={details} label={text.errors.copyDetails} />
              </>
            )}
          </span>
        )}
      </div>
      {action}
    </div>
  );
}
