import type { Deps } from '../deps.ts';
import type { Mismatch } from '../telemetry/observed.ts';

const messages: Record<Mismatch, string> = {
  type: 'A file is not of its declared type',
  sha256: 'A file does not have the SHA-256 that was declared',
};

/** Logs and counts a file whose bytes are not what was declared. The file stays. */
export function reportMismatch(
  { log, onMismatch }: Pick<Deps, 'log' | 'onMismatch'>,
  kind: Mismatch,
  file: { fileId: string; projectId: string; mimeType?: string; detected?: string | null },
): void {
  onMismatch(kind);
  log.warn(file, messages[kind]);
}
