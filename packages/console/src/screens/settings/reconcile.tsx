import type { Answer } from '@cadiz/contract';
import { queryOptions, useMutation, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { call, codeOf } from '../../api.ts';
import { Button } from '../../components/button.tsx';
import { Moment } from '../../components/parts.tsx';
import { ProblemNote } from '../../components/problem.tsx';
import { formatBytes, formatCount } from '../../format.ts';
import { queryClient } from '../../queries.ts';
import { later } from '../../text/later.ts';
import { FileName } from '../files/file-name.tsx';
import './settings.css';

type Reconciliation = Answer<'getReconciliation'>;

/** The newest reconciliation, or null before the first; read again each second while one runs. */
const reconciliationQuery = (projectId: string) =>
  queryOptions<Reconciliation | null>({
    queryKey: ['reconciliation', projectId],
    queryFn: async () => {
      try {
        return await call('getReconciliation', { projectId });
      } catch (error) {
        if (codeOf(error) === 'reconciliation_not_found') return null;
        throw error;
      }
    },
    refetchInterval: ({ state: { data } }) => (data && data.state !== 'done' ? 1000 : false),
  });

/** Compares the objects of a project with its files: first only looking, then removing orphans. */
export function Reconcile({ projectId }: { projectId: string }) {
  const query = reconciliationQuery(projectId);
  const { data, error } = useQuery(query);
  const start = useMutation({
    mutationFn: (dryRun: boolean) => call('reconcileProject', { projectId, dryRun }),
    onSuccess: (begun) => queryClient.setQueryData(query.queryKey, begun),
  });
  const { settings } = later;
  const isRunning = start.isPending || (data ? data.state !== 'done' : false);
  const found = data?.state === 'done' && data.dryRun ? data.orphans.count : 0;
  return (
    <section className="set">
      <div>
        <h2>{settings.reconcileTitle}</h2>
        <p>{settings.reconcileLead}</p>
      </div>
      <div className="fields" aria-live="polite">
        {data && (
          <>
            <Findings found={data} />
            <Affected projectId={projectId} found={data.missing} {...settings.affected.missing} />
            <Affected projectId={projectId} found={data.changed} {...settings.affected.changed} />
          </>
        )}
        <ProblemNote error={error ?? start.error} />
        <div className="line wrap">
          <Button busy={isRunning} onClick={() => start.mutate(true)}>
            {isRunning ? settings.comparing : settings.dryRun}
          </Button>
          {found > 0 && <Button onClick={() => start.mutate(false)}>{settings.removeOrphans(found)}</Button>}
        </div>
      </div>
    </section>
  );
}

function Findings({ found }: { found: Reconciliation }) {
  const { settings } = later;
  const rows = [
    [settings.compared, found.finishedAt ? <Moment key="at" at={found.finishedAt} /> : settings.comparing],
    [settings.objects, `${formatCount(found.objects.count)}, ${formatBytes(found.objects.bytes)}`],
    [settings.filesCompared, formatCount(found.files.count)],
    [settings.orphans, `${formatCount(found.orphans.count)}, ${formatBytes(found.orphans.bytes)}`],
    [settings.removed, formatCount(found.orphans.removed)],
    [settings.pending, formatCount(found.pending.count)],
    [settings.missing, formatCount(found.missing.count)],
    [settings.changed, formatCount(found.changed.count)],
    [settings.foreign, formatCount(found.foreign.count)],
  ] as const;
  return (
    <dl className="kv wide-names">
      {rows.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd className="num">{value}</dd>
        </div>
      ))}
    </dl>
  );
}

interface AffectedProps {
  projectId: string;
  found: Reconciliation['missing'];
  title: string;
  /** What to do about them. */
  remedy: string;
}

/** The files that are not as they should be, as far as the service lists them. */
function Affected({ projectId, found: { count, examples }, title, remedy }: AffectedProps) {
  if (examples.length === 0) return null;
  return (
    <details>
      <summary>{title}</summary>
      <p>{remedy}</p>
      <ul className="affected">
        {examples.map(({ fileId, fileName, fileSize }) => (
          <li key={fileId} className="line">
            <Link
              to="/projects/$projectId/files"
              params={{ projectId }}
              search={{ file: fileId }}
              className="clip"
              aria-label={fileName}
            >
              <FileName name={fileName} />
            </Link>
            <span className="quiet num">{formatBytes(fileSize)}</span>
          </li>
        ))}
      </ul>
      {count > examples.length && <p className="quiet">{later.settings.affected.first(examples.length)}</p>}
    </details>
  );
}
