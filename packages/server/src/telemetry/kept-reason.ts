import { withoutCredentials } from './log.ts';

const keptCharacters = 1000;

/** Why something failed, as it may be stored and shown to the owner of the service: without credentials. */
export function toKeptReason(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return withoutCredentials(text).slice(0, keptCharacters);
}
