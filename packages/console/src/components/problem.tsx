import { type CadizError, type ErrorCode, isCadizError } from '@cadiz/client';
import { CircleAlert } from 'lucide-react';
import type { ReactNode } from 'react';
import { text } from '../text/text.ts';
import { CopyButton } from './copy-button.tsx';

/**
 * What the service says of an error, or of one field, in the reader's language; undefined where there are no words for it but those
 * of the service, which are English.
 */
function translate({ code, issues }: CadizError, issue = issues[0]): string | undefined {
  const { codes, fields } = text.errors;
  return code === 'invalid_request' ? fields[issue?.path ?? ''] : codes[code as ErrorCode];
}

/** What happened, in the words of the service, or in those of the console if the service has not answered. */
export function messageOf(error: unknown): string {
  if (!isCadizError(error)) return error instanceof Error ? error.message : String(error);
  const { code, status, message } = error;
  if (code === 'network_failed' || code === 'timed_out') return text.errors.unreachable;
  // The SDK's words are for programmers, and end with what a proxy has said.
  if (code === 'unexpected_answer') return text.errors.unexpected(status);
  return translate(error) ?? message;
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
