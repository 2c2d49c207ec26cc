import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { Download } from 'lucide-react';
import { call } from '../../api.ts';
import { Button } from '../../components/button.tsx';
import { Meter, Skeleton } from '../../components/parts.tsx';
import { ProblemNote } from '../../components/problem.tsx';
import { formatBytes, formatCount } from '../../format.ts';
import { usageQuery } from '../../queries.ts';
import { text } from '../../text/text.ts';
import { Page } from '../page.tsx';

/** What a project stores now, and what it stored on each day. */
export function Usage() {
  const { projectId = '' } = useParams({ strict: false });
  const now = useQuery(usageQuery(projectId));
  const daily = useQuery({
    queryKey: ['usage', projectId, 'daily'],
    queryFn: async () => (await call('dailyUsage', { projectId })).days,
  });
  const { usage } = text;
  const days = daily.data ?? [];
  function save() {
    const rows = days.map((day) => [day.day, day.files, day.bytes, day.trashedBytes, day.uploads, day.addedBytes]);
    const csv = [['day', 'files', 'bytes', 'trashedBytes', 'uploads', 'addedBytes'], ...rows].join('\n');
    const link = document.createElement('a');
    link.href = URL.createObjectURL(new Blob([`${csv}\n`], { type: 'text/csv' }));
    link.download = `usage-${projectId}.csv`;
    link.click();
    URL.revokeObjectURL(link.href);
  }
  return (
    <Page
      title={text.nav.usage}
      actions={
        days.length > 0 && (
          <Button icon={Download} onClick={save}>
            CSV
          </Button>
        )
      }
    >
      <ProblemNote error={now.error ?? daily.error} />
      {now.data && (
        <dl className="figs">
          <Figure label={usage.files} value={formatCount(now.data.fileCount)} />
          <Figure label={usage.stored} value={formatBytes(now.data.totalBytes)} />
          <Figure label={usage.inTrash} value={formatBytes(now.data.trashedBytes)} />
          <Figure
            label={usage.limit}
            value={now.data.quotaBytes === null ? usage.noLimit : formatBytes(now.data.quotaBytes)}
          />
        </dl>
      )}
      {now.data?.quotaBytes ? (
        <Meter
          isLimit
          share={(now.data.totalBytes + now.data.trashedBytes) / now.data.quotaBytes}
          label={usage.ofLimit}
        />
      ) : null}
      {daily.isPending && <Skeleton />}
      {days.length > 0 && (
        <div className="panel frame wide-table">
          <table className="table">
            <caption className="sr">{usage.byDay}</caption>
            <thead>
              <tr>
                <th>{usage.day}</th>
                <th className="end">{usage.files}</th>
                <th className="end">{usage.stored}</th>
                <th className="end">{usage.inTrash}</th>
                <th className="end">{usage.uploads}</th>
                <th className="end">{usage.added}</th>
              </tr>
            </thead>
            <tbody>
              {[...days].reverse().map((day) => (
                <tr key={day.day}>
                  <td className="num">{day.day}</td>
                  <td className="end num">{formatCount(day.files)}</td>
                  <td className="end num">{formatBytes(day.bytes)}</td>
                  <td className="end num">{formatBytes(day.trashedBytes)}</td>
                  <td className="end num">{formatCount(day.uploads)}</td>
                  <td className="end num">{formatBytes(day.addedBytes)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Page>
  );
}

const Figure = ({ label, value }: { label: string; value: string }) => (
  <div className="fig">
    <dt>{label}</dt>
    <dd>{value}</dd>
  </div>
);
