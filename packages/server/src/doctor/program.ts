import { createInterface } from 'node:readline/promises';
import { parseArgs } from 'node:util';
import { pino } from 'pino';
import type { Config } from '../settings/config.ts';
import { readSettings } from '../settings/settings-file.ts';
import { toSentence, writeWarning } from '../start/start-error.ts';
import { createLog } from '../telemetry/log.ts';
import { openSubject } from './open-subject.ts';
import { createJsonReport, createTextReport } from './report.ts';
import { runDoctor } from './run-doctor.ts';

const usage = `npm run doctor -- [options]

Tests the object store that the settings name, as the service and its clients use it, and says what to do about what is
wrong. Whatever it makes there it removes. Ends with 0 when nothing failed, and with 1 otherwise.

  --fix            adds what is missing to the bucket's CORS rules and policy, and looks again
  --yes            does not ask before it changes something
  --origin ORIGIN  an origin whose pages shall be able to upload, beside CADIZ_PUBLIC_URL; may be given again
  --json           one JSON document instead of text
`;

/** npm passes on the SIGINT that the terminal has sent already, so one Ctrl-C can arrive twice. */
const sameSignalMilliseconds = 1_000;

try {
  const options = readOptions();
  if (options.help) process.stdout.write(usage);
  else process.exitCode = await run(readSettings(writeWarning), options);
} catch (error) {
  process.stderr.write(`${toSentence(error, 'The doctor')}\n`);
  process.exitCode = 1;
}

type Options = ReturnType<typeof readOptions>;

function readOptions() {
  const { values } = parseArgs({
    options: {
      fix: { type: 'boolean', default: false },
      yes: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
      origin: { type: 'string', multiple: true, default: [] },
    },
  });
  return { ...values, origin: values.origin.map(toOrigin) };
}

function toOrigin(text: string): string {
  if (URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)) return new URL(text).origin;
  throw new Error(`--origin ${text} must be an address that begins with http:// or https://.`);
}

async function run(config: Config, { fix, yes, json, origin }: Options): Promise<number> {
  const log = createLog(config.logLevel, pino.destination(2));
  const stop = stopOnSignal();
  const write = (text: string) => void process.stdout.write(text);
  const subject = await openSubject(config, log);
  try {
    const isWell = await runDoctor({
      settings: subject.settings,
      subject: subject.name,
      publicUrl: config.publicUrl,
      origins: [...new Set([new URL(config.publicUrl).origin, ...origin])],
      now: Date.now,
      signal: stop,
      report: json ? createJsonReport(write) : createTextReport(write, hasColours()),
      fix,
      // Who cannot be asked has agreed by saying --fix.
      agree: async () => yes || json || !process.stdin.isTTY || ask(stop),
    });
    if (stop.aborted) return 130;
    return isWell ? 0 : 1;
  } finally {
    await subject.close();
  }
}

async function ask(signal: AbortSignal): Promise<boolean> {
  const lines = createInterface({ input: process.stdin, output: process.stdout });
  try {
    const answer = await lines.question('  Change this? [y/N] ', { signal });
    return /^y(?:es)?$/i.test(answer.trim());
  } catch (error) {
    if (signal.aborted) return false;
    throw error;
  } finally {
    lines.close();
  }
}

/** Colours are for people who look at a terminal, and have not said otherwise (no-color.org). */
function hasColours(): boolean {
  return process.stdout.isTTY === true && !process.env.NO_COLOR;
}

/** Ctrl-C ends the looking, not the tidying up; a second one ends that, too. */
function stopOnSignal(): AbortSignal {
  const controller = new AbortController();
  let asked: number | undefined;
  const stop = () => {
    if (asked !== undefined && performance.now() - asked > sameSignalMilliseconds) process.exit(130);
    if (asked !== undefined) return;
    asked = performance.now();
    process.stderr.write('\nStopping: removing what was made (again to stop at once) …\n');
    controller.abort(new Error('stopped'));
  };
  process.on('SIGINT', stop).on('SIGTERM', stop);
  return controller.signal;
}
