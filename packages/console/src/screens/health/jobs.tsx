import { now } from '../../clock.ts';
import { Badge, Moment, ScrollFrame } from '../../components/parts.tsx';
import { later } from '../../text/later.ts';
import type { Job } from './system-query.ts';

/** Whether the last run of a job failed. */
export const isFailing = ({ lastError, lastSuccessAt }: Job): boolean =>
  lastError !== null && (lastSuccessAt === null || lastError.at > lastSuccessAt);

const lateMilliseconds = 10 * 60_000;

/** Whether a job should have begun ten minutes ago, and has not. */
export const isLate = ({ running, nextRunAt }: Job): boolean =>
  !running && now() - Date.parse(nextRunAt) > lateMilliseconds;

/** What the service does by itself: when it last did, when it is due, and why it last failed. */
export function Jobs({ jobs }: { jobs: readonly Job[] }) {
  const { health } = later;
  const names: Record<string, string | undefined> = health.jobNames;
  return (
    <section className="sect">
      <header>
        <div className="grow">
          <h2>{health.jobs}</h2>
          <p>{health.jobsLead}</p>
        </div>
      </header>
      <ScrollFrame className="jobs" label={health.jobs}>
        <table className="table nolast">
          <thead>
            <tr>
              <th>{health.job}</th>
              <th>{health.state}</th>
              <th>{health.lastDone}</th>
              <th>{health.next}</th>
              <th>{health.lastFailure}</th>
            </tr>
          </thead>
          <tbody>
            {jobs.map((job) => (
              <tr key={job.name}>
                <td className="main">
                  {names[job.name] ?? job.name}
                  <small className="mono">{job.name}</small>
                </td>
                <td>
                  <State job={job} />
                </td>
                <td>
                  <Moment at={job.lastSuccessAt} />
                </td>
                <td>
                  <Moment at={job.nextRunAt} />
                </td>
                <td className="why">
                  {job.lastError && (
                    <>
                      <Moment at={job.lastError.at} />: {job.lastError.message}
                    </>
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollFrame>
    </section>
  );
}

function State({ job }: { job: Job }) {
  const { health } = later;
  if (isFailing(job)) return <Badge tone="bad">{health.isFailing}</Badge>;
  if (job.running) return <Badge tone="live">{health.isRunning}</Badge>;
  if (isLate(job)) return <Badge tone="warn">{health.isLate}</Badge>;
  return <span className="quiet">{health.isInTime}</span>;
}
