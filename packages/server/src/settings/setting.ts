import type { z } from 'zod';

/** Parses the text of a setting. Its messages say what the value must be, never what it is. */
export type Schema<T = unknown> = z.ZodType<T, string>;

const quotable = Symbol('quotable');

/** A schema whose refused values may be quoted in an error message. */
export type QuotableSchema<S extends Schema = Schema> = S & { readonly [quotable]: true };

/** Declares that values refused by this schema are not secret. Settings with any other schema must be marked as secret. */
export function quotes<S extends Schema>(schema: S): QuotableSchema<S> {
  return Object.assign(schema, { [quotable]: true as const });
}

/** The parts of the configuration that are composed of several settings. */
export type Part = 'oidc' | 'mail' | 'database' | 'objectStore' | 'rateLimits';

/**
 * Everything there is to know about one setting. A forgotten mark leaks nothing: a schema that is not quotable does not
 * compile without `secret: true`, and its values are never quoted.
 */
export type Setting<Name extends string = string> = {
  /** What it is for, as in `docs/settings.md`. */
  sentence: string;
  /** Its value when it is not set, as it would be written in the environment. */
  default?: string;
  /** What applies if it is not set and has no fixed default, in words. */
  otherwise?: string;
  /** The settings that must be set if this one is. */
  needs?: readonly Name[];
  /** The part of the configuration that it belongs to; without one, it has its own key. */
  part?: Part;
} & ({ secret: true; schema: Schema } | { secret?: never; schema: QuotableSchema });

export type SettingTable = Readonly<Record<string, Setting>>;

/** Checks that the settings of a table need only settings of the same table. */
export function defineSettings<const T extends { readonly [N in keyof T]: Setting<keyof T & string> }>(table: T): T {
  return table;
}

/** The values of a table of settings, by name; undefined where a setting is not set and has no default. */
export type Values<T extends SettingTable> = {
  [N in keyof T]: z.output<T[N]['schema']> | (T[N] extends { default: string } ? never : undefined);
};

/** The part of an error message that quotes a refused value; empty for a secret, and for what may be a URL with a password. */
export function quote({ secret, schema }: Setting, value: string): string {
  const isQuoted = secret === undefined && quotable in schema && !value.includes('@');
  return isQuoted ? `, and is ${JSON.stringify(value)}` : '';
}
