import { useMutation, useQuery } from '@tanstack/react-query';
import { HeartPulse, Stethoscope } from 'lucide-react';
import { call, codeOf } from '../../api.ts';
import { Button } from '../../components/button.tsx';
import { Empty, Moment, Skeleton } from '../../components/parts.tsx';
import { ProblemNote } from '../../components/problem.tsx';
import { queryClient, useUser } from '../../queries.ts';
import { later } from '../../text/later.ts';
import { text } from '../../text/text.ts';
import { Page } from '../page.tsx';
import { Findings } from './findings.tsx';
import { GivenUp } from './given-up.tsx';
import { Jobs } from './jobs.tsx';
import { Overview } from './overview.tsx';
import { type System, systemQuery } from './system-query.ts';
import './health.css';

/** How the service is, for its owner: what it depends on, what the doctor found, what it does by itself. */
export function Health() {
  const { health } = later;
  if (useUser().role === 'owner') return <SystemHealth />;
  return (
    <Page title={text.nav.health}>
      <Empty icon={HeartPulse} title={health.forOwner} hint={health.forOwnerHint} />
    </Page>
  );
}

/** A run that goes on elsewhere, or for longer than an answer is waited for, is no error: its findings are read. */
const goesOn: readonly (string | undefined)[] = ['doctor_running', 'timed_out'];

function SystemHealth() {
  const { data: system, error, refetch } = useQuery(systemQuery);
  const { health } = later;
  const check = useMutation({
    mutationFn: () => call('runDoctor', {}),
    onSettled: () => queryClient.invalidateQueries({ queryKey: systemQuery.queryKey }),
  });
  const isAtWork = check.isPending || (system?.doctor.running ?? false);
  const problem = error ?? (goesOn.includes(codeOf(check.error)) ? null : check.error);
  return (
    <Page
      title={text.nav.health}
      actions={
        <>
          {system && <Looked className="only-wide" doctor={system.doctor} isAtWork={isAtWork} />}
          <Button icon={Stethoscope} busy={isAtWork} onClick={() => check.mutate()}>
            {health.check}
          </Button>
        </>
      }
    >
      <ProblemNote error={problem} action={<Button onClick={() => refetch()}>{text.common.retry}</Button>} />
      {!system && !error && <Skeleton />}
      {system && (
        <>
          <Overview system={system} />
          <Looked className="only-phone" doctor={system.doctor} isAtWork={isAtWork} />
          <div className="health">
            <Findings doctor={system.doctor} />
            <Facts system={system} />
          </div>
          <Jobs jobs={system.jobs} />
          <GivenUp deadLetters={system.deadLetters} />
        </>
      )}
    </Page>
  );
}

interface LookedProps {
  doctor: System['doctor'];
  isAtWork: boolean;
  className: string;
}

/** When the doctor was there last. */
function Looked({ doctor: { finishedAt }, isAtWork, className }: LookedProps) {
  const { health } = later;
  return (
    <span className={`quiet num ${className}`} role="status">
      {isAtWork ? (
        health.atWork
      ) : finishedAt === null ? (
        health.neverLooked
      ) : (
        <>
          {health.looked} <Moment at={finishedAt} />
        </>
      )}
    </span>
  );
}

/** What the service runs on, in words that can be copied. */
function Facts({ system: { version, nodeVersion, dependencies } }: { system: System }) {
  const { health } = later;
  const { database, objectStore } = dependencies;
  return (
    <section className="sect">
      <header>
        <h2>{health.runsOn}</h2>
      </header>
      <dl className="kv">
        <dt>Cadiz</dt>
        <dd className="num">{version}</dd>
        <dt>Node.js</dt>
        <dd className="num">{nodeVersion}</dd>
        <dt>{health.database}</dt>
        <dd>
          PostgreSQL {database.version}, {health.kinds[database.kind]}
        </dd>
        <dt>{health.objectStore}</dt>
        <dd>{health.kinds[objectStore.kind]}</dd>
        <dt>{health.endpoint}</dt>
        <dd>
          <span className="mono clip">{objectStore.endpoint}</span>
        </dd>
        <dt>{health.bucket}</dt>
        <dd>
          <span className="mono clip">{objectStore.bucket}</span>
        </dd>
      </dl>
    </section>
  );
}
