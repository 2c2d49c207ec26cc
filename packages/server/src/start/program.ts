import { pino } from 'pino';
import { type RunningService, startService } from '../service.ts';
import type { Config } from '../settings/config.ts';
import { readSettings } from '../settings/settings-file.ts';
import { createLog } from '../telemetry/log.ts';
import { toSentence, writeWarning } from './start-error.ts';
import { toWelcome } from './welcome.ts';

try {
  const config = readSettings(writeWarning);
  // Standard output is for people; the log goes to standard error.
  const log = createLog(config.logLevel, pino.destination(2));
  const service = await startService(config, log);
  process.stdout.write(toWelcome(config, service));
  stopOnSignal(service, config);
  void service.failed.then((error) => {
    log.fatal({ error }, 'A part of the service ended unexpectedly');
    process.exit(1);
  });
} catch (error) {
  process.stderr.write(`${toSentence(error)}\n`);
  process.exit(1);
}

/** npm passes on the SIGINT that the terminal has already sent, so one Ctrl-C can arrive twice. */
const sameSignalMilliseconds = 1_000;

function stopOnSignal(service: RunningService, { drainDelaySeconds }: Config): void {
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
    if (performance.now() - asked > sameSignalMilliseconds) process.exit(signal === 'SIGINT' ? 130 : 143);
  };
  process.on('SIGINT', stop);
  process.on('SIGTERM', stop);
}
