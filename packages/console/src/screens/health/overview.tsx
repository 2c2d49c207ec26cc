import type { ReactNode } from 'react';
import { later } from '../../text/later.ts';
import { formatDuration } from './duration.ts';
import { isFailing, isLate } from './jobs.tsx';
import type { System } from './system-query.ts';

type Tone = 'ok' | 'warn' | 'bad';
const toneOf = { healthy: 'ok', available: 'warn', down: 'bad' } as const;

/** In a line: whether what the service needs answers, whether its jobs are done, and for how long it has been running. */
export function Overview({ system: { version, uptimeSeconds, dependencies, jobs } }: { system: System }) {
  const { health } = later;
  const { database, objectStore } = dependencies;
  const failing = jobs.filter(isFailing).length;
  const late = jobs.filter(isLate).length;
  return (
    <dl className="figs">
      <Figure label={health.database} tone={toneOf[database.status]} value={health.states[database.status]}>
        {database.detail ?? `PostgreSQL ${database.version}`}
      </Figure>
      <Figure label={health.objectStore} tone={toneOf[objectStore.status]} value={health.states[objectStore.status]}>
        {objectStore.detail ?? health.kinds[objectStore.kind]}
      </Figure>
      <Figure
        label={health.jobs}
        tone={failing > 0 ? 'bad' : late > 0 ? 'warn' : 'ok'}
        value={failing > 0 ? health.failing(failing) : late > 0 ? health.late(late) : health.inTime}
      >
        {health.jobCount(jobs.length, jobs.filter(({ running }) => running).length)}
      </Figure>
      <Figure label={health.service} tone="ok" value={version}>
        {health.up(formatDuration(uptimeSeconds))}
      </Figure>
    </dl>
  );
}

interface FigureProps {
  label: string;
  tone: Tone;
  value: string;
  children: ReactNode;
}

const Figure = ({ label, tone, value, children }: FigureProps) => (
  <div className="fig">
    <dt>{label}</dt>
    <dd className="st">
      <i className={`dot ${tone}`} />
      {value}
    </dd>
    <dd className="cap num">{children}</dd>
  </div>
);
