import { readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { newWebhookSecret, toSignedBody, toSignedHeaders } from '@cadiz/server/webhook-message';
import type { Run } from '../command.ts';
import { webhookSecretPath, writePrivately } from '../config.ts';
import type { Context } from '../context.ts';
import { readFeed, toSubject, typeColumns } from '../event-feed.ts';
import { toReason, usageFailure } from '../failure.ts';
import { toSecond } from '../format.ts';
import { printable } from '../output.ts';

export const run: Run<'listen'> = async (context, { options }) => {
  const { output } = context;
  const url = readAddress(options['forward-to']);
  const secret = await readSecret(context);
  output.say(`Sending events to ${url}. Deliveries are signed with\n${secret}`);
  const types = options.type.map((type) => ` --type ${type}`).join('');
  // What a shell would take for something else, such as &, is in quotes.
  const quoted = `'${url.replaceAll("'", '%27')}'`;
  const toNext = (seq: string) => `cadiz listen --forward-to ${quoted} --since ${seq}${types}`;
  for await (const event of readFeed(context, { ...options, follow: true, toNext })) {
    const { id, seq, type, at } = event;
    const delivered = await deliver(url, id, toSignedBody(at, JSON.stringify(event)), secret);
    const { status, error, milliseconds } = delivered;
    const outcome = status === null ? `failed: ${error}` : `${status} in ${milliseconds} ms`;
    const isOver = status !== null && status >= 200 && status < 300;
    const shown = context.stdout.isTTY ? output.style(isOver ? 'green' : 'red', outcome) : outcome;
    const columns = [toSecond(at), type.padEnd(typeColumns), printable(toSubject(event)), shown];
    output.printLine({ eventId: id, seq, type, ...delivered }, columns.filter(Boolean).join('  '));
  }
};

function readAddress(text: string | undefined): string {
  if (text === undefined) throw usageFailure('Say where to: --forward-to http://localhost:3000/hooks');
  if (URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)) return text;
  throw usageFailure(`--forward-to ${text} must be a URL that starts with http:// or https://.`);
}

/** The one of the environment, or the stored one, which is made the first time. */
async function readSecret({ env }: Context): Promise<string> {
  const path = webhookSecretPath(env);
  // An empty variable counts as unset: the stored secret must not be replaced for it.
  const stored = env.CADIZ_WEBHOOK_SECRET || (await readFile(path, 'utf8').catch(toNothing)).trim();
  if (/^whsec_[\w+/-]{24,}={0,2}$/.test(stored)) return stored;
  if (stored !== '')
    throw usageFailure(
      `${env.CADIZ_WEBHOOK_SECRET ? 'CADIZ_WEBHOOK_SECRET' : path} is no secret: one is whsec_ and base64.`,
    );
  const secret = newWebhookSecret();
  await writePrivately(path, `${secret}\n`);
  return secret;
}

function toNothing(error: NodeJS.ErrnoException): string {
  if (error.code === 'ENOENT') return '';
  throw error;
}

interface Delivered {
  /** Null if there was no answer. */
  status: number | null;
  error: string | null;
  /** Of the last attempt. */
  milliseconds: number;
  attempts: number;
}

/** Before each further attempt, in seconds. */
const waits = [1, 2, 4, 8];
/** What a proxy answers for a server that is not up. */
const notUp = [502, 503, 504];
/** As long as the service waits. */
const deadlineMilliseconds = 15_000;

async function deliver(url: string, id: string, body: string, secret: string): Promise<Delivered> {
  for (let attempts = 1; ; attempts++) {
    const began = performance.now();
    const headers = { 'content-type': 'application/json', ...toSignedHeaders({ id, at: Date.now(), body }, [secret]) };
    const answer = await fetch(url, {
      method: 'POST',
      headers,
      body,
      redirect: 'manual',
      signal: AbortSignal.timeout(deadlineMilliseconds),
    }).catch((error: Error) => toReason(error));
    const milliseconds = Math.round(performance.now() - began);
    if (answer instanceof Response) await answer.body?.cancel();
    const wait = waits[attempts - 1];
    if (answer instanceof Response && (wait === undefined || !notUp.includes(answer.status)))
      return { status: answer.status, error: null, milliseconds, attempts };
    if (typeof answer === 'string' && wait === undefined)
      return { status: null, error: answer, milliseconds, attempts };
    await delay((wait ?? 0) * 1000);
  }
}
