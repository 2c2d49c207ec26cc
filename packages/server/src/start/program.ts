import cluster from 'node:cluster';
import { constants } from 'node:os';
import { fileURLToPath } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import type { Logger } from 'pino';
import { requireFreePort } from '../http/listen.ts';
import { type RunningService, startService } from '../service.ts';
import type { Config } from '../settings/config.ts';
import { readSettings } from '../settings/settings-file.ts';
import { createLog, openLogOutput } from '../telemetry/log.ts';
import { stopEndingOnSignal, stopSignals } from './early-signals.ts';
import { toSentence, writeWarning } from './start-error.ts';
import { toWelcome } from './welcome.ts';
import { type Ready, startWorkers } from './workers.ts';

// Whoever read what it says may be gone, or the disk be full: the service goes on without being heard.
process.stdout.on('error', () => undefined);
process.stderr.on('error', () => undefined);

// While a process is idle, V8 takes away the space that new objects are made in, and later gives it back by doubling it. For tens of
// thousands of requests after each pause, that means three times as many collections: it comes back in one step instead.
setFlagsFromString('--semi-space-growth-factor=16');

try {
  if (cluster.isWorker) await serveAsWorker();
  else await serve();
} catch (error) {
  process.stderr.write(`${toSentence(error)}\n`);
  process.exit(1);
}

async function serve(): Promise<void> {
  const config = readSettings(writeWarning);
  // Standard output is for people; the log goes to standard error.
  const log = createLog(config.logLevel, openLogOutput());
  // Reports a taken port at once, before the database is created. A worker that did so would take connections from the others.
  for (const port of portsOf(config)) await requireFreePort(config.host, port);
  const service =
    config.workers > 1
      ? await startWorkers(config, log, fileURLToPath(import.meta.url))
      : await startService(config, log);
  process.stdout.write(toWelcome(config, service));
  stopOnSignal(config, service);
  endIfFailed(service, log);
}

/** The ports that the first process listens on. */
function portsOf({ port, objectStore, metricsPort }: Config): number[] {
  const storePort = objectStore.kind === 'embedded' ? objectStore.port : undefined;
  return [port, storePort, metricsPort].filter((each) => each !== undefined);
}

/** What each worker does: serves until SIGTERM. It ends at once if its parent is gone. */
async function serveAsWorker(): Promise<void> {
  // Its parent has shown all warnings.
  const config = readSettings(() => undefined);
  const log = createLog(config.logLevel, openLogOutput());
  // Ctrl-C in a terminal, and its end, reach all processes; the parent passes them on as SIGTERM.
  for (const signal of ['SIGINT', 'SIGHUP'] as const) process.on(signal, () => undefined);
  const service = await startService(config, log);
  process.once('SIGTERM', async () => {
    // Its parent decides when it is enough.
    process.on('SIGTERM', () => undefined);
    await service.stop();
    process.exit(0);
  });
  endIfFailed(service, log);
  process.send?.({ setup: service.setup } satisfies Ready);
}

function endIfFailed({ failed }: Pick<RunningService, 'failed'>, log: Logger): void {
  void failed.then((error) => {
    log.fatal({ error }, 'A part of the service ended unexpectedly');
    process.exit(1);
  });
}

/** npm passes on the SIGINT that the terminal has already sent, so one Ctrl-C can arrive twice. */
const sameSignalMilliseconds = 1_000;

/** Has a signal stop the service. Until it was ready, one has ended the process at once. */
function stopOnSignal({ drainDelaySeconds }: Config, service: RunningService): void {
  let asked: number | undefined;
  const stop = async (signal: NodeJS.Signals) => {
    if (asked === undefined) {
      asked = performance.now();
      const first = drainDelaySeconds > 0 ? `accepting requests for another ${drainDelaySeconds} s, then ` : '';
      process.stdout.write(`\nStopping: ${first}finishing what is in progress (press again to stop immediately) …\n`);
      await service.stop();
      process.stdout.write('Stopped.\n');
      process.exit(0);
    }
    // A second signal comes from somebody who does not want to wait.
    if (performance.now() - asked > sameSignalMilliseconds) process.exit(128 + constants.signals[signal]);
  };
  for (const signal of stopSignals) process.on(signal, stop);
  stopEndingOnSignal();
}
