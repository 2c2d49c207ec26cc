import { InvalidSettings } from './config.ts';

/** Why the service, or what else `who` is, could not start, and how to mend it, in one sentence. */
export function toSentence(error: unknown, who = 'Cadiz'): string {
  if (error instanceof InvalidSettings) return error.mistakes.join('\n');
  if (!(error instanceof Error)) return `${who} could not start: ${String(error)}`;
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
  return /^(?:[A-Z]|--).*\.$/s.test(error.message) ? error.message : `${who} could not start: ${error.message}`;
}

function toPortName(port: number | undefined): string {
  const { STORE_PORT, METRICS_PORT } = process.env;
  if (String(port) === METRICS_PORT) return 'METRICS_PORT';
  return String(port) === (STORE_PORT || '4001') ? 'STORE_PORT' : 'PORT';
}
