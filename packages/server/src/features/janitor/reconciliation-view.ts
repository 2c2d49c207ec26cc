import type { Reconciliation } from '@cadiz/contract';
import type { Selectable } from 'kysely';
import type { z } from 'zod';
import type { Schema } from '../../db/schema.ts';
import type { Comparison } from './compare-page.ts';

type View = z.output<typeof Reconciliation>;
type Row = Selectable<Schema['reconciliations']>;
type FindingRow = Pick<Selectable<Schema['reconciliation_findings']>, 'kind' | 'facts'>;

export interface Finding {
  kind: FindingRow['kind'];
  storeKey: string;
  /** The example exactly as the answer has it. */
  facts: { storeKey: string } & Record<string, unknown>;
}

/** The findings of one page of a comparison, as examples for the answer. */
export function toFindings({ orphans, missing, changed, foreign }: Comparison): Finding[] {
  const ofObject = ({ storeKey, sizeBytes, modifiedAt }: Comparison['orphans'][number]) => ({
    storeKey,
    fileSize: sizeBytes,
    modifiedAt: modifiedAt.toISOString(),
  });
  const ofFile = ({ id, store_key, file_name, file_size, etag }: Comparison['missing'][number]) => ({
    fileId: id,
    storeKey: store_key,
    fileName: file_name,
    fileSize: file_size,
    etag,
  });
  const all = [
    ...orphans.map((object) => ({ kind: 'orphan' as const, facts: ofObject(object) })),
    ...missing.map((file) => ({ kind: 'missing' as const, facts: ofFile(file) })),
    ...changed.map(({ file, sizeBytes, etag }) => ({
      kind: 'changed' as const,
      facts: { ...ofFile(file), storedSize: sizeBytes, storedEtag: etag },
    })),
    ...foreign.map((object) => ({ kind: 'foreign' as const, facts: ofObject(object) })),
  ];
  return all.map((finding) => ({ ...finding, storeKey: finding.facts.storeKey }));
}

/** A reconciliation as the API shows it. @param findings its examples */
export function toReconciliationView(row: Row, findings: readonly FindingRow[]): View {
  // The table holds what `toFindings` made with the same version of the contract's schema.
  const examplesOf = <T>(kind: FindingRow['kind']) =>
    findings.filter((finding) => finding.kind === kind).map(({ facts }) => facts as T);
  return {
    id: row.id,
    projectId: row.project_id,
    dryRun: row.dry_run,
    requestedBy: row.requested_by,
    state: row.finished_at ? 'done' : row.started_at ? 'running' : 'queued',
    requestedAt: row.requested_at.toISOString(),
    startedAt: row.started_at?.toISOString() ?? null,
    finishedAt: row.finished_at?.toISOString() ?? null,
    objects: { count: row.object_count, bytes: row.object_bytes },
    files: { count: row.file_count },
    pending: { count: row.pending_count },
    orphans: {
      count: row.orphan_count,
      bytes: row.orphan_bytes,
      removed: row.removed_count,
      examples: examplesOf<View['orphans']['examples'][number]>('orphan'),
    },
    missing: { count: row.missing_count, examples: examplesOf<View['missing']['examples'][number]>('missing') },
    changed: { count: row.changed_count, examples: examplesOf<View['changed']['examples'][number]>('changed') },
    foreign: { count: row.foreign_count, examples: examplesOf<View['foreign']['examples'][number]>('foreign') },
  };
}
