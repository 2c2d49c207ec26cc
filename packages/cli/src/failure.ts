import { type CadizError, isCadizError } from '@cadiz/client';

/** How the command ends. */
export const exitCodes = {
  ok: 0,
  failed: 1,
  usage: 2,
  notFound: 3,
  signIn: 4,
  someFailed: 5,
  interrupted: 130,
  terminated: 143,
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

/** @param answer what it is that no Cadiz service answers */
export const notCadiz = (url: string, answer: string) =>
  new Failure(exitCodes.failed, `${url} is not a Cadiz service: it answered ${answer}.`);

export const usageFailure = (message: string) => new Failure(exitCodes.usage, message);

/** What an error is to the person at the terminal. */
export interface Told {
  exitCode: ExitCode;
  message: string;
  /** The service's code, or the client's. */
  code?: string;
  requestId?: string;
}

/**
 * Turns whatever was thrown into a sentence and an exit code.
 *
 * @param unreachable where the last request went that failed without an answer, if that is known
 */
export function toTold(error: unknown, unreachable?: string): Told {
  if (error instanceof Failure) return { exitCode: error.exitCode, message: error.message };
  if (isCadizError(error)) {
    const { code, status, requestId } = error;
    if (code === 'invalid_argument' && error.message.startsWith('Give projectId:'))
      return { exitCode: exitCodes.usage, message: whichProject };
    return {
      exitCode: toExitCode(code, status),
      message: toMessage(error, unreachable),
      code,
      ...(requestId && { requestId }),
    };
  }
  if (isParseError(error)) return { exitCode: exitCodes.usage, message: error.message.split('. ')[0] ?? error.message };
  const { code, path } = error as NodeJS.ErrnoException;
  const sentence = toFileSentence(error);
  if (sentence) {
    const exitCode = code === 'ENOENT' ? exitCodes.notFound : exitCodes.failed;
    return { exitCode, message: path ? `${path}: ${sentence}` : sentence, code: code ?? '' };
  }
  return { exitCode: exitCodes.failed, message: error instanceof Error ? error.message : String(error) };
}

/** What went wrong with a file of this machine; undefined for any other error. */
export const toFileSentence = (error: unknown): string | undefined =>
  fileSentences[(error as NodeJS.ErrnoException).code ?? ''];

/** What goes wrong with files of this machine, for people. */
const fileSentences: Record<string, string> = {
  EACCES: 'permission denied.',
  EDQUOT: 'the quota of this user is used up.',
  EEXIST: 'exists already.',
  EFBIG: 'is too large for this file system.',
  EILSEQ: 'this file system does not allow this name.',
  EINVAL: 'this file system does not allow this name.',
  EISDIR: 'is a folder.',
  ELOOP: 'leads to itself through symbolic links.',
  ENAMETOOLONG: 'the name is too long for this file system.',
  ENOENT: 'there is no such file or folder.',
  ENOSPC: 'no space is left on this disk.',
  ENOTDIR: 'is not in a folder.',
  ENOTEMPTY: 'is a folder that is not empty.',
  EPERM: 'is not permitted.',
  EROFS: 'the file system is read-only.',
};

/** Nothing says which project a command is about. */
export const whichProject = 'Which project? Choose one with cadiz projects use, or give --project.';

function toExitCode(code: string, status: number): ExitCode {
  if (code === 'aborted') return exitCodes.interrupted;
  if (code === 'unexpected_answer') return exitCodes.failed;
  if (status === 401) return exitCodes.signIn;
  if (status === 404) return exitCodes.notFound;
  return exitCodes.failed;
}

/** The reason of Node's `fetch failed`. With several addresses, it has no message but a code. */
export function toReason(error: Error): string {
  const cause = error.cause as NodeJS.ErrnoException | undefined;
  return cause?.message || cause?.code || error.message;
}

/** The sentence of the service, with every field that it refuses, or of the way there. */
function toMessage({ message, issues, code, cause }: CadizError, unreachable?: string): string {
  if (code === 'network_failed' && unreachable && cause instanceof Error)
    return `${unreachable} cannot be reached: ${toReason(cause)}`;
  if (code === 'timed_out' && unreachable) return `${unreachable} has not answered in time.`;
  if (code === 'network_failed')
    return `${message.replace('TypeError: fetch failed', 'the service cannot be reached.')}`;
  // Its words are those of the SDK.
  if (code === 'unexpected_answer')
    return message.replace('is baseUrl right?', 'is the URL of cadiz login, or CADIZ_URL, right?');
  const others = issues.map(({ path, message }) => `${path} ${message}`).filter((issue) => !message.includes(issue));
  return [message, ...others].join('\n  ');
}

const isParseError = (error: unknown): error is Error =>
  error instanceof Error && String((error as NodeJS.ErrnoException).code).startsWith('ERR_PARSE_ARGS');
