import type pg from 'pg';

/**
 * Bytes, in projects with a quota, that upload URLs were handed out for and that are not recorded. A presign adds
 * to a sum in memory, and each process writes its sums to the database every few seconds, for the other processes and
 * for itself after a restart.
 */
export interface PresignedBytes {
  /**
   * @param issuedAt of the store key, Unix milliseconds
   * @param bytes negative for a recorded upload
   */
  add(projectId: string, issuedAt: number, bytes: number): void;
  /** What this process has added and not written to the database yet. */
  unflushed(projectId: string): number;
  /** Writes the sums to the database. If that fails, they are kept for the next flush. */
  flush(): Promise<void>;
}

/** Store keys issued within this period share one row. */
const slotMilliseconds = 5 * 60_000;

/** The start of the slot that contains a moment (Unix milliseconds). */
export function toSlot(at: number): number {
  return Math.floor(at / slotMilliseconds) * slotMilliseconds;
}

type Sums = Map<string, Map<number, number>>;

/** @param pool the database that the sums are written to */
export function createPresignedBytes(pool: pg.Pool): PresignedBytes {
  let unflushed: Sums = new Map();
  let sending: Sums = new Map();
  let flushed: Promise<void> = Promise.resolve();

  async function send(): Promise<void> {
    sending = unflushed;
    unflushed = new Map();
    const rows = toRows(sending);
    try {
      if (rows.length > 0) await write(pool, rows);
    } catch (error) {
      for (const { projectId, since, bytes } of rows) addTo(unflushed, projectId, since, bytes);
      throw error;
    } finally {
      sending = new Map();
    }
  }

  return {
    add: (projectId, issuedAt, bytes) => addTo(unflushed, projectId, toSlot(issuedAt), bytes),
    unflushed: (projectId) => sumOf(unflushed, projectId) + sumOf(sending, projectId),
    flush() {
      flushed = flushed.catch(() => undefined).then(send);
      return flushed;
    },
  };
}

interface Row {
  projectId: string;
  /** The start of a slot, Unix milliseconds. */
  since: number;
  bytes: number;
}

function addTo(sums: Sums, projectId: string, slot: number, bytes: number): void {
  const slots = sums.get(projectId) ?? new Map<number, number>();
  sums.set(projectId, slots.set(slot, (slots.get(slot) ?? 0) + bytes));
}

function sumOf(sums: Sums, projectId: string): number {
  let sum = 0;
  for (const bytes of sums.get(projectId)?.values() ?? []) sum += bytes;
  return sum;
}

function toRows(sums: Sums): Row[] {
  return [...sums].flatMap(([projectId, slots]) => [...slots].map(([since, bytes]) => ({ projectId, since, bytes })));
}

/**
 * Writes in one order everywhere, so that two processes never wait for each other, and skips projects that are gone or
 * have lost their quota.
 */
async function write(pool: pg.Pool, rows: Row[]): Promise<void> {
  await pool.query({
    name: 'add-presigned-bytes',
    text: `insert into presigned_bytes as told (project_id, since, bytes)
           select new.project_id, new.since, new.bytes
           from unnest($1::uuid[], $2::timestamptz[], $3::int8[]) as new (project_id, since, bytes)
           join projects on projects.id = new.project_id and quota_bytes is not null
           order by 1, 2
           on conflict (project_id, since) do update set bytes = told.bytes + excluded.bytes`,
    values: [
      rows.map(({ projectId }) => projectId),
      rows.map(({ since }) => new Date(since)),
      rows.map(({ bytes }) => bytes),
    ],
  });
}
