import type { Database } from '../src/db/open.ts';
import { readColumns } from './rows.ts';

/** The shapes of credentials, wherever they appear: keys, signed addresses, cookies, password hashes. */
const shapes = [
  /cz_(?:live|test|ticket)_[0-9A-Za-z]{49}/,
  /whsec_[0-9A-Za-z+/]{43}=/,
  /Signature=[0-9a-f]{64}/i,
  /session_token=[^;\s"\\]{16,}/,
  /\$argon2id?\$/,
  /"(?:authorization|cookie|set-cookie|x-setup-token|x-invitation|password)"\s*:\s*"[^"]/i,
];

/** The table that stores password hashes on purpose; they must be nowhere else. */
const hashedPasswords = 'accounts';

/** Remembers credentials, and finds any that were written down, or anything that looks like one. */
export interface Secrecy {
  /** @param secret counts from 12 characters on: a shorter one may occur anywhere by chance */
  remember(secret: string | undefined): void;
  /** Collects the credentials of an answer. */
  rememberAnswer(headers: Headers, body: unknown): void;
  /** The offending piece of the text with its surroundings; undefined if there is none. */
  findIn(text: string): string | undefined;
  /** The same for every row of every table, the first `rows` of each. */
  findInDatabase(db: Database, rows?: number): Promise<string | undefined>;
}

export function createSecrecy(): Secrecy {
  // Words are found in one pass over a text however many there are; secrets with spaces are searched one by one.
  const words = new Set<string>();
  const phrases = new Set<string>();

  function remember(secret: string | undefined): void {
    if (typeof secret !== 'string' || secret.length < 12) return;
    (/^[\w.%~=/+-]+$/.test(secret) ? words : phrases).add(secret);
  }

  function findIn(text: string): string | undefined {
    const around = (at: number) => text.slice(Math.max(0, at - 100), at + 160);
    for (const shape of shapes) {
      const at = text.search(shape);
      if (at !== -1) return around(at);
    }
    for (const phrase of phrases) if (text.includes(phrase)) return around(text.indexOf(phrase));
    for (const { 0: word, index } of text.matchAll(/[\w.%~=/+-]{12,}/g)) {
      // A token may be at the end of an address.
      const parts = [word, ...word.split(/[/=]/)];
      if (parts.some((part) => words.has(part))) return around(index);
    }
    return undefined;
  }

  return {
    remember,
    findIn,
    rememberAnswer(headers, body) {
      for (const cookie of headers.getSetCookie()) {
        const value = cookie.split(';')[0]?.split('=').slice(1).join('=') ?? '';
        remember(value);
        remember(decodeURIComponent(value));
        // The token itself, without its signature.
        remember(decodeURIComponent(value).split('.')[0]);
      }
      const { key, ticket, secret, url } = (body ?? {}) as Record<string, unknown>;
      for (const credential of [key, ticket, secret]) if (typeof credential === 'string') remember(credential);
      if (typeof url === 'string') remember(/(?:#|\/archives\/)([\w.~-]{20,})$/.exec(url)?.[1]);
    },
    async findInDatabase(db, rows = 2_000) {
      for (const table of (await readColumns(db)).keys()) {
        const text = `select t::text as row from (select * from ${table} limit ${rows}) t`;
        const { rows: found } = await db.pool.query<{ row: string }>(text);
        const all = found.map(({ row }) => row).join('\n');
        const leak = findIn(table === hashedPasswords ? all.replaceAll('$argon2id$', '') : all);
        if (leak !== undefined) return `${table}: ${leak}`;
      }
      return undefined;
    },
  };
}
