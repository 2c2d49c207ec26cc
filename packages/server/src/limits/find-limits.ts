import type pg from 'pg';
import { isFresh, type Renewable, renew } from '../access/found-cache.ts';
import { createBoundedCache } from '../bounded-cache.ts';

/** The limits of a project; null means no limit of its own. */
export interface ProjectLimits {
  quotaBytes: number | null;
  maxFileSizeBytes: number | null;
  allowedMimeTypes: readonly string[] | null;
  /** Whether a file is refused if its first bytes do not match the declared type. */
  refusesMismatch: boolean;
  /** What the project stores, including its trash; 0 if it has no quota. */
  storedBytes: number;
  /** What unfinished uploads in parts take in addition. */
  openBytes: number;
  /**
   * Bytes that upload URLs were handed out for and that are not recorded yet. This process adds its own changes at
   * once.
   */
  presigned: { bytes: number };
}

/** The limits of projects, at most ten seconds old (decision 0007). */
export interface LimitsCache {
  find(projectId: string): Promise<ProjectLimits> | ProjectLimits;
  /** Forgets a project's limits, because they changed or something in the project was removed. */
  forgetProject(projectId: string): void;
  forgetAll(): void;
}

const unlimited: ProjectLimits = {
  quotaBytes: null,
  maxFileSizeBytes: null,
  allowedMimeTypes: null,
  refusesMismatch: false,
  storedBytes: 0,
  openBytes: 0,
  presigned: { bytes: 0 },
};

interface Known extends Renewable {
  limits: ProjectLimits;
  foundAt: number;
}

/**
 * Caches limits by project. Concurrent requests for one that is not cached share a single query.
 * @param unflushed bytes that this process has handed out URLs for and the database does not know of yet
 */
export function createLimitsCache(
  pool: pg.Pool,
  now: () => number,
  unflushed: (projectId: string) => number = () => 0,
): LimitsCache {
  const known = createBoundedCache<Known>(100_000);
  const asking = new Map<string, Promise<ProjectLimits>>();

  async function askAndRemember(projectId: string): Promise<ProjectLimits> {
    const answer = readLimits(pool, projectId, unflushed);
    asking.set(projectId, answer);
    try {
      const limits = await answer;
      // The answer may lack a change that was made while this query ran.
      if (asking.get(projectId) === answer) {
        const foundAt = now();
        known.set(projectId, { limits, foundAt, askedAt: foundAt });
      }
      return limits;
    } finally {
      if (asking.get(projectId) === answer) asking.delete(projectId);
    }
  }

  return {
    find(projectId) {
      const found = known.get(projectId);
      const at = now();
      if (found !== undefined && isFresh(found.foundAt, at)) {
        renew(found, at, () => asking.get(projectId) ?? askAndRemember(projectId));
        return found.limits;
      }
      return asking.get(projectId) ?? askAndRemember(projectId);
    },
    forgetProject(projectId) {
      known.delete(projectId);
      asking.delete(projectId);
    },
    forgetAll() {
      known.clear();
      asking.clear();
    },
  };
}

/**
 * SQL for the size of uploads in parts together, as far as a number can say it. That size is only declared: a client may begin
 * thousands of the largest files at once.
 */
export const openBytesSql = `least(coalesce(sum(file_size), 0), ${Number.MAX_SAFE_INTEGER})::bigint`;

interface LimitsRow {
  quota_bytes: number | null;
  max_file_size_bytes: number | null;
  allowed_mime_types: string[] | null;
  content_mismatch: 'report' | 'refuse';
}

interface UsedRow extends LimitsRow {
  stored_bytes: number;
  open_bytes: number;
  presigned_bytes: number;
}

async function readLimits(
  pool: pg.Pool,
  projectId: string,
  unflushed: (projectId: string) => number,
): Promise<ProjectLimits> {
  const { rows } = await pool.query<UsedRow>({
    name: 'limits',
    text: `
      select quota_bytes, max_file_size_bytes, allowed_mime_types, content_mismatch,
             case when quota_bytes is null then 0
                  else (select coalesce(sum(total_bytes), 0) from project_usage where project_id = $1) end::bigint
               as stored_bytes,
             case when quota_bytes is null then 0
                  else (select ${openBytesSql} from uploads
                        where project_id = $1 and aborted_at is null and completed_at is null) end::bigint
               as open_bytes,
             case when quota_bytes is null then 0
                  else (select coalesce(sum(greatest(bytes, 0)), 0) from presigned_bytes where project_id = $1) end::bigint
               as presigned_bytes
      from projects where id = $1`,
    values: [projectId],
  });
  const [row] = rows;
  // A project that is gone has no limits here: the insert statement refuses the file.
  if (!row) return unlimited;
  const presignedBytes = Math.max(row.presigned_bytes + unflushed(projectId), 0);
  return toLimits(row, { storedBytes: row.stored_bytes, openBytes: row.open_bytes, presignedBytes });
}

/** Bytes of its quota that a project uses. */
interface Used {
  storedBytes: number;
  openBytes: number;
  presignedBytes?: number;
}

/** The limits of a row of `projects`, with what is used of them in bytes. */
export function toLimits(row: LimitsRow, { storedBytes, openBytes, presignedBytes = 0 }: Used): ProjectLimits {
  return {
    quotaBytes: row.quota_bytes,
    maxFileSizeBytes: row.max_file_size_bytes,
    allowedMimeTypes: row.allowed_mime_types,
    refusesMismatch: row.content_mismatch === 'refuse',
    storedBytes,
    openBytes,
    presigned: { bytes: presignedBytes },
  };
}
