import type { IndexDb } from './index-db.ts';
import type { BrokenRecord } from './index-table.ts';

/**
 * - `rotten`: the bytes are not those that were stored
 * - `missing`: a file is not there
 * - `stray`: a file that nothing refers to, and that no start will clear away
 * - `index`: a record of the index is broken, or the index contradicts itself
 * - `journal`: the index could not be rebuilt from its journal
 */
export type ProblemKind = 'rotten' | 'missing' | 'stray' | 'index' | 'journal';

export interface Problem {
  kind: ProblemKind;
  /** What it is about: bucket/key, unescaped, or the path of a file in the data folder */
  subject: string;
  sentence: string;
}

export interface Verified {
  objects: number;
  /** of objects and of uploads under way */
  parts: number;
  /** read and digested */
  bytes: number;
  /** files that the next start clears away or sets aside, which is not a problem */
  leftovers: number;
  /** files in set-aside/, which is not a problem either */
  setAside: number;
  problems: number;
}

export interface VerifyHandlers {
  onProblem(problem: Problem): void;
  /** Called after every MiB, and after every object. */
  onProgress?(sofar: Readonly<Verified>): void;
}

export interface BrokenRecords {
  onBroken(record: BrokenRecord): void;
  /** Those met since the last call, each reported only once. */
  take(): BrokenRecord[];
  count(): number;
}

export function openBroken(): BrokenRecords {
  const known = new Set<string>();
  let met: BrokenRecord[] = [];
  return {
    onBroken: (record) => {
      const name = `${record.table} ${record.key}`;
      if (!known.has(name)) met.push(record);
      known.add(name);
    },
    take: () => {
      const taken = met;
      met = [];
      return taken;
    },
    count: () => known.size,
  };
}

/** What a broken record belongs to, named as other problems name it. */
function subjectOf({ table, key }: BrokenRecord): string {
  const [bucket = '', name = '', uploadId = ''] = key.split('\0');
  if (table === 'objects') return `${bucket}/${name}`;
  if (table === 'uploads') return `${bucket}/${name}, upload ${uploadId}`;
  if (table !== 'parts') return key;
  const [partsOf = '', number = ''] = key.split('/');
  return `upload ${partsOf}, part ${Number(number)}`;
}

/** One look through a store: what is looked through, and what has been found. */
export interface Verification {
  readonly folder: string;
  readonly index: IndexDb;
  readonly broken: BrokenRecords;
  readonly sofar: Verified;
  report(kind: ProblemKind, subject: string, sentence: string): void;
  /** Reports the broken records that were met since the last call. */
  reportBroken(): void;
  onProgress(): void;
}

export function openVerification(
  folder: string,
  index: IndexDb,
  broken: BrokenRecords,
  { onProblem, onProgress }: VerifyHandlers,
): Verification {
  const sofar: Verified = { objects: 0, parts: 0, bytes: 0, leftovers: 0, setAside: 0, problems: 0 };
  function report(kind: ProblemKind, subject: string, sentence: string): void {
    sofar.problems += 1;
    onProblem({ kind, subject, sentence });
  }
  return {
    folder,
    index,
    broken,
    sofar,
    report,
    reportBroken() {
      for (const record of broken.take()) {
        const advice = 'delete or replace the object, or rebuild the index with verify --rebuild';
        report('index', subjectOf(record), `its record cannot be read: ${advice}`);
      }
    },
    onProgress: () => onProgress?.(sofar),
  };
}
