import type pg from 'pg';

interface ServerSettings extends Record<'version' | 'told' | 'encoding' | 'dates', string> {
  /** The values of `ordinarySettings`, in their order. */
  ordinary: string[];
  /** After how long the server ends idle connections, if that is too soon. */
  ended: string | null;
}

/** What statements rely on, and an administrator can change for a server, a database or a user. */
const ordinarySettings = {
  // Each statement of a transaction sees what was committed before it, by whoever held the lock that it has waited for.
  default_transaction_isolation: 'read committed',
  // With another value, foreign keys are not enforced.
  session_replication_role: 'origin',
  // Without it, null in a list is read as the string NULL.
  array_nulls: 'on',
};

/** Longer than the ten seconds for which `pg` keeps an idle connection: one that the server ends may just have been given out. */
const shortestIdle = '15s';

/**
 * Looks whether a server or a database is set to something with which the service would fail later.
 * @returns its version, for example `15.14`
 * @throws Error whose message is the reason
 */
export async function requireSuitable(pool: pg.Pool): Promise<string> {
  const { rows } = await pool.query<ServerSettings>(
    `select current_setting('server_version') as version, current_setting('client_min_messages') as told,
       current_setting('server_encoding') as encoding, current_setting('DateStyle') as dates,
       array(select current_setting(name) from unnest($1::text[]) as names (name)) as ordinary,
       (select idle from current_setting('idle_session_timeout') as idle
        where idle <> '0' and idle::interval < $2::interval) as ended`,
    [Object.keys(ordinarySettings), shortestIdle],
  );
  const settings = rows[0] ?? { version: '', told: '', encoding: '', dates: '', ordinary: [], ended: null };
  const unsuitable = findUnsuitable(settings);
  if (unsuitable) throw new Error(unsuitable);
  return settings.version;
}

/** Why the server or the database cannot be used; undefined if it can. */
function findUnsuitable({ told, encoding, dates, ordinary, ended }: ServerSettings): string | undefined {
  // A warning is how PostgreSQL reports a commit that was not replicated.
  if (told === 'error') return 'its client_min_messages is error; set it to warning or remove it';
  // SQL_ASCII keeps any bytes as they are.
  if (encoding !== 'UTF8' && encoding !== 'SQL_ASCII')
    return `its encoding is ${encoding}, which lacks characters that names can have; create it with encoding 'UTF8' template template0`;
  // `pg` reads times in no other style.
  if (!dates.startsWith('ISO')) return `its DateStyle is ${dates}; set it to ISO or remove it`;
  if (ended !== null) return `its idle_session_timeout is ${ended}; set it to ${shortestIdle} or more, or remove it`;
  for (const [index, [name, value]] of Object.entries(ordinarySettings).entries()) {
    if (ordinary[index] !== value) return `its ${name} is ${ordinary[index]}; set it to ${value} or remove it`;
  }
  return undefined;
}
