import type pg from 'pg';

export interface SharedCount {
  name: string;
  /** By all processes together, in the current window. */
  used: number;
  secondsLeft: number;
}

/** Counts shared by all processes of the service. */
export interface SharedCounts {
  add(counts: ReadonlyMap<string, number>, windowSeconds: number): Promise<SharedCount[]>;
  /** Removes counts of windows that have ended. */
  removeEnded(): Promise<void>;
}

const namesAtOnce = 5_000;

/** One that ends much later than it can was begun by a clock that was wrong. */
const isCurrent = 'shared.ends_at > now() and shared.ends_at < now() + 2 * make_interval(secs => $3)';

/** Counts in PostgreSQL, by the clock of the database, since those of the processes differ. */
export function createSharedCounts(pool: pg.Pool): SharedCounts {
  async function addSome(counts: [string, number][], windowSeconds: number): Promise<SharedCount[]> {
    const { rows } = await pool.query<{ name: string; used: number; seconds_left: number }>({
      name: 'add-rate-limit-counts',
      text: `insert into rate_limits as shared (name, used, ends_at)
             select name, used, now() + make_interval(secs => $3)
             from unnest($1::text[], $2::int8[]) as new(name, used)
             on conflict (name) do update set
               used = excluded.used + case when ${isCurrent} then shared.used else 0 end,
               ends_at = case when ${isCurrent} then shared.ends_at else excluded.ends_at end
             returning name, used, extract(epoch from ends_at - now())::float8 as seconds_left`,
      values: [counts.map(([name]) => name), counts.map(([, count]) => count), windowSeconds],
    });
    return rows.map(({ name, used, seconds_left }) => ({ name, used, secondsLeft: seconds_left }));
  }

  return {
    async add(counts, windowSeconds) {
      // In the same order everywhere, so that processes cannot deadlock.
      const entries = [...counts].sort(([a], [b]) => (a < b ? -1 : 1));
      const all: SharedCount[] = [];
      for (let at = 0; at < entries.length; at += namesAtOnce) {
        all.push(...(await addSome(entries.slice(at, at + namesAtOnce), windowSeconds)));
      }
      return all;
    },
    async removeEnded() {
      await pool.query({
        name: 'remove-ended-rate-limits',
        text: `delete from rate_limits where name in
                 (select name from rate_limits where ends_at < now() order by name for update skip locked)`,
      });
    },
  };
}
