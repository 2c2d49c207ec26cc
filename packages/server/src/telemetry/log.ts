import { type DestinationStream, type Level, type Logger, type LoggerOptions, pino } from 'pino';

/**
 * The fields in which PostgreSQL describes an error beyond its message, such as the offending row or the values of a key. They
 * can contain password hashes and e-mail addresses.
 */
const ofRows = ['detail', 'where', 'internalQuery', 'parameters'];

/** pino puts a colon between the messages of an error and its cause, also where the first is a sentence. */
function toFields(error: Error) {
  const fields = pino.stdSerializers.err(error);
  if (error instanceof Error) fields.message = fields.message.replaceAll('.: ', ': ');
  return fields;
}

/** The options of every log, whatever its level and destination. */
export const logOptions = {
  errorKey: 'error',
  serializers: { error: toFields },
  redact: { paths: ofRows.flatMap((name) => [`error.${name}`, `error.*.${name}`]), remove: true },
} satisfies LoggerOptions;

/** Credentials anywhere in a line. Nothing logs them today; this guards against what a library may log one day. */
const credentials: [RegExp, string][] = [
  [/\bcz_(live|test|ticket)_[0-9A-Za-z]{20,}/g, 'cz_$1_…'],
  [
    /((?:session_token|(?:X-Amz-|%58-Amz-)?(?:S|%53)ignature|X-Amz-Credential|X-Amz-Security-Token)(?:=|%3D))[^\s"'&;\\]+/gi,
    '$1…',
  ],
  [/\b(Bearer|Basic) +[\w.~+/=-]{8,}/gi, '$1 …'],
  [/\$argon2id?\$[^\s")\\]+/g, '$argon2id$…'],
  [/(\/archives\/)[\w-]{20,}[\w.-]*/g, '$1…'],
];

/** Removes the credentials from a line of the log. */
export function withoutCredentials(line: string): string {
  return credentials.reduce((text, [pattern, replacement]) => text.replace(pattern, replacement), line);
}

/** What is kept of a log that cannot be written, until it can be. What comes after that is lost. */
const keptBytes = 1024 * 1024;

/**
 * Standard error as the destination of a log. A full disk or a reader that is gone ends nothing: the first time, it is said on
 * standard output.
 */
export function openLogOutput(): DestinationStream {
  const output = pino.destination({ dest: 2, sync: true, maxLength: keptBytes });
  let isTold = false;
  output.on('error', ({ message }: Error) => {
    if (isTold) return;
    isTold = true;
    process.stdout.write(`Warning: The log cannot be written (${message}).\n`);
  });
  return output;
}

/** The log of the service: lines of JSON without credentials. */
export function createLog(level: Level, destination: DestinationStream): Logger {
  return pino({ ...logOptions, level, hooks: { streamWrite: withoutCredentials } }, destination);
}
