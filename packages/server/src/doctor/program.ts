import { createInterface } from 'node:readline/promises';
import type { Config } from '../settings/config.ts';
import { readSettings } from '../settings/settings-file.ts';
import { writeWarning } from '../start/start-error.ts';
import { tellFailure } from '../start/tell-failure.ts';
import { createLog, openLogOutput } from '../telemetry/log.ts';
import { openSubject } from './open-subject.ts';
import { createJsonReport, createTextReport } from './report.ts';
import { runDoctor } from './run-doctor.ts';

/** npm passes on the SIGINT that the terminal has already sent, so one Ctrl-C can arrive twice. */
const sameSignalMilliseconds = 1_000;

export interface Options {
  /** Adds what is missing to the bucket's CORS rules and policy, and checks again. */
  fix: boolean;
  /** Does not ask before changing anything. */
  yes: boolean;
  /** One JSON document instead of text. */
  json: boolean;
  /** Origins whose pages must be able to upload, in addition to CADIZ_PUBLIC_URL. */
  origin: readonly string[];
}

/**
 * Tests the object store in the settings the way the service and its clients use it, and whether links reach the service.
 * What it finds goes to standard output. Everything it creates there, it removes.
 *
 * @returns the exit code of the process: 0 if nothing failed
 */
export async function examineStore(options: Options): Promise<number> {
  try {
    return await run(readSettings(writeWarning), options);
  } catch (error) {
    return tellFailure(error, 'The doctor', options.json);
  }
}

async function run(config: Config, { fix, yes, json, origin }: Options): Promise<number> {
  const log = createLog(config.logLevel, openLogOutput());
  const stop = stopOnSignal();
  const write = (text: string) => void process.stdout.write(text);
  const subject = await openSubject(config, log);
  try {
    const isWell = await runDoctor({
      settings: subject.settings,
      subject: subject.name,
      publicUrl: config.publicUrl,
      config,
      origins: [...new Set([new URL(config.publicUrl).origin, ...origin])],
      now: Date.now,
      signal: stop,
      report: json ? createJsonReport(write) : createTextReport(write, hasColours()),
      fix,
      // Without a terminal nobody can be asked, and --fix itself is the consent.
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

/** Colours are for people at a terminal who have not switched them off (no-color.org). */
function hasColours(): boolean {
  return process.stdout.isTTY === true && !process.env.NO_COLOR;
}

/** Ctrl-C ends the checks, but not the cleaning up; a second Ctrl-C ends that as well. */
function stopOnSignal(): AbortSignal {
  const controller = new AbortController();
  let asked: number | undefined;
  const stop = () => {
    if (asked !== undefined && performance.now() - asked > sameSignalMilliseconds) process.exit(130);
    if (asked !== undefined) return;
    asked = performance.now();
    process.stderr.write('\nStopping: removing what was created (press again to stop immediately) …\n');
    controller.abort(new Error('stopped'));
  };
  process.on('SIGINT', stop).on('SIGTERM', stop);
  return controller.signal;
}
