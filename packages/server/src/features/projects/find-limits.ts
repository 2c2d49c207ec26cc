import { LRUCache } from 'lru-cache';
import type pg from 'pg';
import { isFresh } from '../../found-cache.ts';

/** What a project takes; null is no limit of its own. */
export interface ProjectLimits {
  quotaBytes: number | null;
  maxFileSizeBytes: number | null;
  allowedMimeTypes: readonly string[] | null;
  /** Whether a file is refused whose first bytes are of another type than was declared. */
  refusesMismatch: boolean;
  /** What the project stores, its trash too, where it has a quota; 0 otherwise. */
  storedBytes: number;
}

/** The limits of projects, at most ten seconds old (decision 0007). */
export interface LimitsCache {
  find(projectId: string): Promise<ProjectLimits> | ProjectLimits;
  /** Forgets a project's limits, since they have changed or something of it was removed. */
  forgetProject(projectId: string): void;
  forgetAll(): void;
}

export const unlimited: ProjectLimits = {
  quotaBytes: null,
  maxFileSizeBytes: null,
  allowedMimeTypes: null,
  refusesMismatch: false,
  storedBytes: 0,
};

interface Known {
  limits: ProjectLimits;
  foundAt: number;
}

/** Limits by project. However many ask for one that is not known, one query is sent. */
export function createLimitsCache(pool: pg.Pool, now: () => number): LimitsCache {
  const known = new LRUCache<string, Known>({ max: 100_000 });
  const asking = new Map<string, Promise<ProjectLimits>>();

  async function askAndRemember(projectId: string): Promise<ProjectLimits> {
    const answer = readLimits(pool, projectId);
    asking.set(projectId, answer);
    try {
      const limits = await answer;
      // What was changed while this query ran may not be in its answer.
      if (asking.get(projectId) === answer) known.set(projectId, { limits, foundAt: now() });
      return limits;
    } finally {
      if (asking.get(projectId) === answer) asking.delete(projectId);
    }
  }

  return {
    find(projectId) {
      const found = known.get(projectId);
      if (found !== undefined && isFresh(found.foundAt, now())) return found.limits;
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

interface LimitsRow {
  quota_bytes: number | null;
  max_file_size_bytes: number | null;
  allowed_mime_types: string[] | null;
  content_mismatch: 'report' | 'refuse';
}

async function readLimits(pool: pg.Pool, projectId: string): Promise<ProjectLimits> {
  const { rows } = await pool.query<LimitsRow & { stored_bytes: number }>({
    name: 'limits',
    text: `
      select quota_bytes, max_file_size_bytes, allowed_mime_types, content_mismatch,
             case when quota_bytes is null then 0
                  else (select coalesce(sum(total_bytes), 0) from project_usage where project_id = $1) end::bigint
               as stored_bytes
      from projects where id = $1`,
    values: [projectId],
  });
  const [row] = rows;
  // A project that has gone takes nothing: the statement that inserts says so.
  return row ? toLimits(row, row.stored_bytes) : unlimited;
}

export function toLimits(row: LimitsRow, storedBytes: number): ProjectLimits {
  return {
    quotaBytes: row.quota_bytes,
    maxFileSizeBytes: row.max_file_size_bytes,
    allowedMimeTypes: row.allowed_mime_types,
    refusesMismatch: row.content_mismatch === 'refuse',
    storedBytes,
  };
}
