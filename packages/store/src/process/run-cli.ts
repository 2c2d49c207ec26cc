import { parseArgs } from 'node:util';
import { openStore, type StoreOptions } from './open-store.ts';
import { runRebuild, runVerify, superviseVerify, workerVariable } from './verify-command.ts';

const usage = `Usage: cadiz-store --data DIR [--port 9000] [--host 127.0.0.1] [--region us-east-1]
                   [--presigned-overwrite allow|deny]
The keys are read from STORE_ACCESS_KEY_ID and STORE_SECRET_ACCESS_KEY.

       cadiz-store verify [--rebuild] --data DIR
Reads everything again and verifies its checksums, while no store is using the folder; exit code 1 if there is any problem.
With --rebuild it first rebuilds the index, from its journal and the existing blobs. It removes nothing.`;

/** A mistake made by whoever started the program. */
class UsageError extends Error {}

function readOptions(): StoreOptions {
  const { values } = parseArgs({
    options: {
      data: { type: 'string' },
      port: { type: 'string', default: '9000' },
      host: { type: 'string', default: '127.0.0.1' },
      region: { type: 'string', default: 'us-east-1' },
      'presigned-overwrite': { type: 'string', default: 'allow' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    console.log(usage);
    process.exit(0);
  }
  if (!values.data) throw new UsageError('Say where the data is: --data DIR.');
  const port = Number(values.port);
  if (!/^\d+$/.test(values.port) || port > 65535) throw new UsageError('--port must be a number from 0 to 65535.');
  const presignedOverwrite = values['presigned-overwrite'];
  if (presignedOverwrite !== 'allow' && presignedOverwrite !== 'deny') {
    throw new UsageError('--presigned-overwrite must be allow or deny.');
  }
  const accessKeyId = process.env.STORE_ACCESS_KEY_ID ?? '';
  const secretAccessKey = process.env.STORE_SECRET_ACCESS_KEY ?? '';
  if (accessKeyId === '' || secretAccessKey === '') {
    throw new UsageError('Set STORE_ACCESS_KEY_ID and STORE_SECRET_ACCESS_KEY, the keys that clients will sign with.');
  }
  const { host, region } = values;
  return { dataDir: values.data, host, port, region, accessKeyId, secretAccessKey, presignedOverwrite, log: writeLine };
}

function writeLine(line: object): void {
  process.stderr.write(`${JSON.stringify({ time: new Date().toISOString(), ...line })}\n`);
}

function toSentence(error: unknown, options: StoreOptions | undefined): string {
  if (!(error instanceof Error)) return String(error);
  const code = 'code' in error ? error.code : undefined;
  if (code === 'EADDRINUSE') return `Port ${options?.port} on ${options?.host} is in use: choose another with --port.`;
  const listening = 'syscall' in error && error.syscall === 'listen';
  if (listening && code === 'EACCES')
    return `This user may not listen on port ${options?.port}: choose one above 1023.`;
  return error.message;
}

/** A report that could not be written, such as to a full disk, was not given. Whoever closes a pipe has seen enough of it. */
function failIfUnwritten(): void {
  process.stdout.once('error', ({ code, message }: NodeJS.ErrnoException) => {
    if (code === 'EPIPE') return;
    console.error(`The report could not be written to standard output: ${message}.`);
    process.once('exit', () => {
      process.exitCode = 1;
    });
  });
}

async function verify(): Promise<void> {
  failIfUnwritten();
  try {
    const args = process.argv.slice(3);
    const { values } = parseArgs({
      args,
      options: {
        data: { type: 'string' },
        rebuild: { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    });
    if (values.help) return console.log(usage);
    if (!values.data) throw new UsageError('Say where the data is: verify --data DIR.');
    if (process.env[workerVariable] === undefined) {
      process.exitCode = await superviseVerify(['verify', ...args], values.data);
      return;
    }
    const rebuilt = values.rebuild ? await runRebuild(values.data) : 0;
    process.exitCode = Math.max(rebuilt, await runVerify(values.data));
  } catch (error) {
    console.error(toSentence(error, undefined));
    process.exitCode = 1;
  }
}

async function main(): Promise<void> {
  let options: StoreOptions | undefined;
  try {
    options = readOptions();
    const store = await openStore(options);
    stopOnSignal(store);
    console.log(`Listening on http://${options.host}:${store.port}, data in ${options.dataDir}.`);
  } catch (error) {
    console.error(toSentence(error, options));
    process.exit(1);
  }
}

/** The first signal starts a graceful stop; a second one ends the process at once. */
function stopOnSignal(store: Awaited<ReturnType<typeof openStore>>): void {
  let stopping = false;
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      if (stopping) process.exit(1);
      stopping = true;
      store.close().then(
        () => process.exit(0),
        (error: unknown) => {
          console.error(String(error));
          process.exit(1);
        },
      );
    });
  }
}

/** Runs the command that this process was started with. */
export const runCli = (): Promise<void> => (process.argv[2] === 'verify' ? verify() : main());
