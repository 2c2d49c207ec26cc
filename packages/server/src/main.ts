import { existsSync } from 'node:fs';
import { pino } from 'pino';
import { InvalidSettings, readConfig } from './config.ts';
import { type RunningService, startService } from './service.ts';
import { toWelcome } from './welcome.ts';

if (existsSync('.env')) process.loadEnvFile('.env');

try {
  const config = readConfig(process.env);
  // People read standard output; the log goes to standard error.
  const log = pino({ level: config.logLevel, errorKey: 'error' }, pino.destination(2));
  const service = await startService(config, log);
  process.stdout.write(toWelcome(config, service));
  stopOnSignal(service);
  void service.failed.then((error) => {
    log.fatal({ error }, 'A part of the service ended unexpectedly');
    process.exit(1);
  });
} catch (error) {
  process.stderr.write(`${toSentence(error)}\n`);
  process.exit(1);
}

/** npm passes on the SIGINT that the terminal has sent already, so one Ctrl-C can arrive twice. */
const sameSignalMilliseconds = 1_000;

function stopOnSignal(service: RunningService): void {
  let asked: number | undefined;
  const stop = async (signal: NodeJS.Signals) => {
    if (asked === undefined) {
      asked = performance.now();
      process.stdout.write('\nStopping: finishing what is under way (again to stop at once) …\n');
      await service.stop();
      process.stdout.write('Stopped.\n');
      process.exit(0);
    }
    // A second signal is a person who will not wait.
    if (performance.now() - asked > sameSignalMilliseconds) process.exit(signal === 'SIGINT' ? 130 : 143);
  };
  process.on('SIGINT', stop);
  process.on('SIGTERM', stop);
}

/** Why the service could not start, and how to mend it, in one sentence. */
function toSentence(error: unknown): string {
  if (error instanceof InvalidSettings) return error.mistakes.join('\n');
  if (!(error instanceof Error)) return `Cadiz could not start: ${String(error)}`;
  const { code, port, address, path } = error as NodeJS.ErrnoException & { port?: number; address?: string };
  if (code === 'EADDRINUSE')
    return `Port ${port} is in use by another program: stop it, or set ${toPortName(port)} to another port.`;
  if (code === 'EADDRNOTAVAIL')
    return `HOST=${address} is no address of this machine: set HOST to one that is, such as 127.0.0.1 or 0.0.0.0.`;
  if (code === 'EACCES' && port !== undefined)
    return `This user may not listen on port ${port}: set ${toPortName(port)} to one from 1024 on.`;
  if (
    path !== undefined &&
    (code === 'EACCES' || code === 'EROFS' || code === 'ENOTDIR' || code === 'EEXIST' || code === 'EPERM')
  ) {
    return `The data folder cannot be written (${code} at ${path}): make it writable, or set CADIZ_DATA_DIR to another folder.`;
  }
  return /^[A-Z].*\.$/s.test(error.message) ? error.message : `Cadiz could not start: ${error.message}`;
}

function toPortName(port: number | undefined): string {
  const { STORE_PORT, METRICS_PORT } = process.env;
  if (String(port) === METRICS_PORT) return 'METRICS_PORT';
  return String(port) === (STORE_PORT || '4001') ? 'STORE_PORT' : 'PORT';
}
