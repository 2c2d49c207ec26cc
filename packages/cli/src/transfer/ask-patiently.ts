import { Failure, toReason } from '../failure.ts';

const attempts = 5;

/**
 * Asks another store until it answers well: failures that may pass are waited out.
 *
 * @param send makes a new request; one that throws a Failure is not repeated
 * @param toFailure what to throw, given the answer or why there was none
 * @throws Failure
 */
export async function askPatiently(
  send: () => Promise<Response>,
  toFailure: (answer: Response | string) => Failure | Promise<Failure>,
): Promise<Response> {
  for (let attempt = 1; ; attempt++) {
    const answer = await send().catch((error: Error) => {
      if (error instanceof Failure) throw error;
      return toReason(error);
    });
    if (typeof answer !== 'string' && answer.ok) return answer;
    const mayPass = typeof answer === 'string' || answer.status === 429 || answer.status >= 500;
    if (!mayPass || attempt === attempts) throw await toFailure(answer);
    if (typeof answer !== 'string') await answer.body?.cancel();
    const asked = typeof answer === 'string' ? undefined : readRetryAfter(answer.headers.get('retry-after'));
    await new Promise((resolve) => setTimeout(resolve, asked ?? Math.random() * 400 * 2 ** attempt));
  }
}

const longestWaitMilliseconds = 60_000;

/** How long a store asks to wait (RFC 9110, section 10.2.3), but no longer than a minute; undefined if it does not. */
export function readRetryAfter(value: string | null, now = Date.now()): number | undefined {
  if (value === null) return undefined;
  const milliseconds = /^\d+$/.test(value) ? Number(value) * 1000 : Date.parse(value) - now;
  return Number.isNaN(milliseconds) ? undefined : Math.min(Math.max(milliseconds, 0), longestWaitMilliseconds);
}

/** How long an answer without a file may take. */
const answerMilliseconds = 60_000;

/**
 * `fetch` for an answer without a file. One that breaks off has failed, as one that never came has: `askPatiently` asks for it
 * again.
 */
export async function fetchWhole(url: string, init: RequestInit): Promise<Response> {
  const answer = await fetch(url, { signal: AbortSignal.timeout(answerMilliseconds), ...init });
  await answer.clone().arrayBuffer();
  return answer;
}
