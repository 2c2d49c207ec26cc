import type { Answer } from '@cadiz/contract';
import { keepPreviousData, useQuery, useSuspenseQuery } from '@tanstack/react-query';
import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { Download } from 'lucide-react';
import { lazy, type ReactNode, Suspense, useMemo, useState } from 'react';
import { Button } from '../../components/button.tsx';
import { Meter, Skeleton } from '../../components/parts.tsx';
import { ProblemNote } from '../../components/problem.tsx';
import { toCsv } from '../../csv.ts';
import { formatBytes, formatCount, formatShare } from '../../format.ts';
import { onceReachable } from '../../once-reachable.ts';
import { projectsQuery, toUsedBytes, usageQuery } from '../../queries.ts';
import { save } from '../../save.ts';
import { text } from '../../text/text.ts';
import { ScreenNotFound } from '../fallbacks.tsx';
import { Page } from '../page.tsx';
import './usage.css';
import { type Day, dailyQuery, fillDays, formatUtcDay, type Period, periods } from './days.ts';
import { DayTable } from './table.tsx';

const Chart = lazy(onceReachable(async () => ({ default: (await import('./chart.tsx')).Chart })));

/** What a project stores now, and what it stored and got on each day: as a chart, as a table, as CSV. */
export function Usage() {
  const { projectId } = useParams({ from: '/signed-in/shell/projects/$projectId/usage' });
  const { days: period = 30 } = useSearch({ from: '/signed-in/shell/projects/$projectId/usage' });
  const { data: projects } = useSuspenseQuery(projectsQuery);
  const project = projects.find(({ id }) => id === projectId);
  const now = useQuery(usageQuery(projectId));
  const daily = useQuery({ ...dailyQuery(projectId, period), placeholderData: keepPreviousData });
  const [at, setAt] = useState<number>();
  const createdAt = project?.createdAt ?? '';
  const days = useMemo(() => daily.data && fillDays(daily.data, period, createdAt), [daily.data, period, createdAt]);
  const { usage } = text;
  if (!project) return <ScreenNotFound />;
  const error = now.error ?? daily.error;
  const retry = () => Promise.all([now.refetch(), daily.refetch()]);
  return (
    <Page
      title={text.nav.usage}
      actions={
        <>
          <PeriodSwitch period={period} className="only-wide" />
          <Button icon={Download} disabled={!days} onClick={() => days && saveDays(projectId, days)}>
            CSV
          </Button>
        </>
      }
    >
      <PeriodSwitch period={period} className="wide only-phone" />
      <ProblemNote error={error} action={<Button onClick={retry}>{text.common.retry}</Button>} />
      {now.data && days && <Figures now={now.data} days={days} period={period} />}
      {daily.isPending && <Skeleton />}
      {days && (
        <div className="usage-grid">
          <section className="sect">
            <header>
              <h2 className="grow">{usage.byDay}</h2>
            </header>
            <Suspense fallback={<div className="chart-room" />}>
              <Chart days={days} limit={project.quotaBytes} at={at} onAt={setAt} />
            </Suspense>
          </section>
          <section className="sect">
            <header>
              <h2 className="grow">{usage.inNumbers}</h2>
              <span className="quiet">{usage.utcDays}</span>
            </header>
            <DayTable days={days} at={at} onAt={setAt} />
          </section>
        </div>
      )}
    </Page>
  );
}

function PeriodSwitch({ period, className }: { period: Period; className: string }) {
  const navigate = useNavigate();
  return (
    <fieldset className={`segs ${className}`}>
      <legend className="sr">{text.usage.period}</legend>
      {periods.map((days) => (
        <button
          key={days}
          type="button"
          aria-pressed={days === period}
          onClick={() => void navigate({ to: '.', search: { days: days === 30 ? undefined : days } })}
        >
          {days === 365 ? text.usage.year : text.usage.days(days)}
        </button>
      ))}
    </fieldset>
  );
}

interface FiguresProps {
  now: Answer<'usage'>;
  days: readonly Day[];
  period: Period;
}

function Figures({ now, days, period }: FiguresProps) {
  const { usage } = text;
  const { fileCount, totalBytes, trashedBytes, quotaBytes } = now;
  const used = toUsedBytes(now);
  const uploads = days.reduce((sum, { figures }) => sum + (figures?.uploads ?? 0), 0);
  const busiest = days.reduce((most, day) => ((day.figures?.uploads ?? 0) > (most.figures?.uploads ?? 0) ? day : most));
  const periodName = period === 365 ? text.usage.year : usage.days(period);
  return (
    <dl className="figs">
      <Figure
        label={usage.used}
        value={formatBytes(used)}
        of={quotaBytes === null ? usage.noLimit : usage.of(formatBytes(quotaBytes))}
      >
        {quotaBytes !== null && (
          <>
            <dd>
              <Meter isLimit share={used / quotaBytes} label={usage.ofLimit} />
            </dd>
            <dd className="cap num">{usage.share(formatShare(used / quotaBytes))}</dd>
          </>
        )}
      </Figure>
      <Figure label={usage.files} value={formatCount(fileCount)} of={formatBytes(totalBytes)} />
      <Figure label={usage.uploadsIn(periodName)} value={formatCount(uploads)}>
        {busiest.figures && busiest.figures.uploads > 0 && (
          <dd className="cap num">{usage.mostOn(formatUtcDay(busiest.day), formatCount(busiest.figures.uploads))}</dd>
        )}
      </Figure>
      <Figure label={usage.inTrash} value={formatBytes(trashedBytes)}>
        {quotaBytes !== null && <dd className="cap">{usage.counts}</dd>}
      </Figure>
    </dl>
  );
}

interface FigureProps {
  label: string;
  value: string;
  /** Small, beside the value. */
  of?: string;
  /** Below it. */
  children?: ReactNode;
}

const Figure = ({ label, value, of, children }: FigureProps) => (
  <div className="fig">
    <dt>{label}</dt>
    <dd>
      {value} {of && <small>{of}</small>}
    </dd>
    {children}
  </div>
);

const columns = ['files', 'bytes', 'trashedBytes', 'uploads', 'addedBytes'] as const;

function saveDays(projectId: string, days: readonly Day[]): void {
  const rows = days.map(({ day, figures }) => [day, ...columns.map((column) => figures?.[column] ?? null)]);
  save(`usage-${projectId}.csv`, 'text/csv', toCsv([['day', ...columns], ...rows]));
}
