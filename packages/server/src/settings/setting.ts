import type { z } from 'zod';

/** Reads the value of a setting from its text. Its messages say what the value must be, never what it is. */
export type Schema<T = unknown> = z.ZodType<T, string>;

const quotable = Symbol('quotable');

/** A schema whose refused values may be repeated in an error message. */
export type QuotableSchema<S extends Schema = Schema> = S & { readonly [quotable]: true };

/** Says that what this schema refuses is no secret. Without it, a setting has to be marked as one. */
export function quotes<S extends Schema>(schema: S): QuotableSchema<S> {
  return Object.assign(schema, { [quotable]: true as const });
}

/** The parts of the configuration that several settings make up. */
export type Part = 'oidc' | 'mail' | 'database' | 'objectStore' | 'rateLimits';

/**
 * Everything that there is to say about one setting. A value that could be a secret must be marked as one: that a schema
 * is neither quotable nor beside `secret: true` does not compile.
 */
export type Setting<Name extends string = string> = {
  /** What it is for, in `docs/settings.md`. */
  sentence: string;
  /** Its value when it is not set, as it would be written in the environment. */
  default?: string;
  /** In words, what holds instead when it is not set and has no default of its own. */
  otherwise?: string;
  /** The settings that must be set when it is. */
  needs?: readonly Name[];
  /** The part of the configuration that it goes into; otherwise it has a key of its own there. */
  part?: Part;
} & ({ secret: true; schema: Schema } | { secret?: never; schema: QuotableSchema });

export type SettingTable = Readonly<Record<string, Setting>>;

/** A table whose settings need only settings of the same table. */
export function defineSettings<const T extends { readonly [N in keyof T]: Setting<keyof T & string> }>(table: T): T {
  return table;
}

/** The values of the settings of a table, by their names; undefined where one is not set and has no default. */
export type Values<T extends SettingTable> = {
  [N in keyof T]: z.output<T[N]['schema']> | (T[N] extends { default: string } ? never : undefined);
};

/** What an error message repeats of a refused value: nothing of a secret, nor of what may be an address with a password. */
export function quote({ secret, schema }: Setting, value: string): string {
  const isQuoted = secret === undefined && quotable in schema && !value.includes('@');
  return isQuoted ? `, and is ${JSON.stringify(value)}` : '';
}
