import { quote, type SettingTable, type Values } from './setting.ts';
import { findUnknownSettings } from './unknown-settings.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** The outcome of reading a table of settings from an environment. */
export interface ReadValues<T extends SettingTable> {
  /** Complete only if there are no mistakes: refused values are left out. */
  values: Partial<Values<T>>;
  /** One sentence for each mistake, without the values of secrets. */
  mistakes: string[];
  /** Sentences about names that other programs may use. */
  warnings: string[];
}

/**
 * Reads the settings of a table from the environment. An empty variable counts as not set.
 * @param fromFile the names that the `.env` file sets
 */
export function readValues<T extends SettingTable>(
  table: T,
  environment: Environment,
  fromFile: Iterable<string> = [],
): ReadValues<T> {
  const values: Record<string, unknown> = {};
  const refused: string[] = [];
  for (const [name, setting] of Object.entries(table)) {
    const value = environment[name] || setting.default;
    if (value === undefined) continue;
    const result = setting.schema.safeParse(value);
    if (result.success) values[name] = result.data;
    else refused.push(`${name} ${result.error.issues[0]?.message}${quote(setting, value)}.`);
  }
  const unknown = findUnknownSettings(table, environment, fromFile);
  return {
    values: values as Partial<Values<T>>,
    mistakes: [...refused, ...findMissing(table, environment), ...unknown.mistakes],
    warnings: unknown.warnings,
  };
}

/** One sentence for each group of missing settings that the same other settings need. */
function findMissing(table: SettingTable, environment: Environment): string[] {
  const isSet = (name: string) => Boolean(environment[name]);
  const set = Object.entries(table).filter(([name]) => isSet(name));
  const missingByNeeding = new Map<string, string[]>();
  for (const name of Object.keys(table).filter((each) => !isSet(each))) {
    const needing = set.filter(([, { needs = [] }]) => needs.includes(name)).map(([each]) => each);
    if (needing.length === 0) continue;
    const when = `${list(needing)} ${needing.length > 1 ? 'are' : 'is'}`;
    missingByNeeding.set(when, [...(missingByNeeding.get(when) ?? []), name]);
  }
  return [...missingByNeeding].map(([when, missing]) => `${list(missing)} must be set when ${when}.`);
}

const conjunction = new Intl.ListFormat('en', { type: 'conjunction' });
function list(names: readonly string[]): string {
  return conjunction.format(names);
}
