import { isCadizError } from '@cadiz/client';

/** How the command ends. */
export const exitCodes = {
  ok: 0,
  failed: 1,
  usage: 2,
  notFound: 3,
  signIn: 4,
  someFailed: 5,
  interrupted: 130,
} as const;

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

/** Ends a command with a sentence for people and an exit code. */
export class Failure extends Error {
  readonly exitCode: ExitCode;
  constructor(exitCode: ExitCode, message: string) {
    super(message);
    this.exitCode = exitCode;
  }
}

export const usageFailure = (message: string) => new Failure(exitCodes.usage, message);

/** What an error is to the person at the terminal. */
export interface Told {
  exitCode: ExitCode;
  message: string;
  /** The service's code, or the client's. */
  code?: string;
  requestId?: string;
}

/** Turns whatever was thrown into a sentence and an exit code. */
export function toTold(error: unknown): Told {
  if (error instanceof Failure) return { exitCode: error.exitCode, message: error.message };
  if (isCadizError(error)) {
    const { code, status, requestId } = error;
    return { exitCode: toExitCode(code, status), message: withIssues(error), code, ...(requestId && { requestId }) };
  }
  if (isParseError(error)) return { exitCode: exitCodes.usage, message: error.message.split('. ')[0] ?? error.message };
  const { code, path } = error as NodeJS.ErrnoException;
  const sentence = fileSentences[code ?? ''];
  if (sentence) {
    const exitCode = code === 'ENOENT' ? exitCodes.notFound : exitCodes.failed;
    return { exitCode, message: path ? `${path}: ${sentence}` : sentence, code: code ?? '' };
  }
  return { exitCode: exitCodes.failed, message: error instanceof Error ? error.message : String(error) };
}

/** What goes wrong with files of this machine, for people. */
const fileSentences: Record<string, string> = {
  EACCES: 'permission denied.',
  EDQUOT: 'the quota of this user is used up.',
  EEXIST: 'exists already.',
  EILSEQ: 'this file system does not take such a name.',
  EINVAL: 'this file system does not take such a name.',
  EISDIR: 'is a folder.',
  ELOOP: 'leads to itself through symbolic links.',
  ENAMETOOLONG: 'the name is too long for this file system.',
  ENOENT: 'there is no such file or folder.',
  ENOSPC: 'no space is left on this disk.',
  ENOTDIR: 'is not in a folder.',
  EPERM: 'is not permitted.',
  EROFS: 'the file system is read-only.',
};

function toExitCode(code: string, status: number): ExitCode {
  if (code === 'aborted') return exitCodes.interrupted;
  if (status === 401) return exitCodes.signIn;
  if (status === 404) return exitCodes.notFound;
  return exitCodes.failed;
}

/** The sentence of the service, with every field that it refuses. */
function withIssues({
  message,
  issues,
  code,
}: {
  message: string;
  issues: readonly { path: string; message: string }[];
  code: string;
}): string {
  if (code === 'network_failed')
    return `${message.replace('TypeError: fetch failed', 'the service cannot be reached.')}`;
  const others = issues.map(({ path, message }) => `${path} ${message}`).filter((issue) => !message.includes(issue));
  return [message, ...others].join('\n  ');
}

const isParseError = (error: unknown): error is Error =>
  error instanceof Error && String((error as NodeJS.ErrnoException).code).startsWith('ERR_PARSE_ARGS');
