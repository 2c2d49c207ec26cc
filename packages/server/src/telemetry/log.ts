import { type DestinationStream, type Level, type Logger, type LoggerOptions, pino } from 'pino';

/**
 * What PostgreSQL says of an error beyond its message: the row that did not fit, or the values of a key. A hash of a
 * password and an e-mail address have stood there.
 */
const ofRows = ['detail', 'where', 'internalQuery', 'parameters'];

/** How the service logs, whatever the level and wherever it goes. */
export const logOptions = {
  errorKey: 'error',
  redact: { paths: ofRows.flatMap((name) => [`error.${name}`, `error.*.${name}`]), remove: true },
} satisfies LoggerOptions;

/** Credentials wherever they stand in a text. Nothing logs them; this is for what a library may say one day. */
const credentials: [RegExp, string][] = [
  [/\bcz_(live|test)_[0-9A-Za-z]{20,}/g, 'cz_$1_…'],
  [
    /((?:session_token|(?:X-Amz-|%58-Amz-)?(?:S|%53)ignature|X-Amz-Credential|X-Amz-Security-Token)(?:=|%3D))[^\s"'&;\\]+/gi,
    '$1…',
  ],
  [/\b(Bearer|Basic) +[\w.~+/=-]{8,}/gi, '$1 …'],
  [/\$argon2id?\$[^\s")\\]+/g, '$argon2id$…'],
  [/(\/archives\/)[\w-]{20,}[\w.-]*/g, '$1…'],
];

/** A line of the log without the credentials in it. */
export function withoutCredentials(line: string): string {
  return credentials.reduce((text, [pattern, replacement]) => text.replace(pattern, replacement), line);
}

/** The log of the service, in lines of JSON without a credential in them. */
export function createLog(level: Level, destination: DestinationStream): Logger {
  return pino({ ...logOptions, level, hooks: { streamWrite: withoutCredentials } }, destination);
}
