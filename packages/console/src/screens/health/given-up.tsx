import { CircleCheck } from 'lucide-react';
import { CopyButton } from '../../components/copy-button.tsx';
import { Badge, Moment, ScrollFrame } from '../../components/parts.tsx';
import { formatCount } from '../../format.ts';
import { later } from '../../text/later.ts';
import { text } from '../../text/text.ts';
import type { System } from './system-query.ts';

const retry = 'npm run queue -- retry';

/** Work that was tried as often as it is tried, and then given up: how much, the latest, and what to do. */
export function GivenUp({ deadLetters: { count, newest } }: { deadLetters: System['deadLetters'] }) {
  const { health } = later;
  return (
    <section className="sect">
      <header>
        <div className="grow">
          <h2>{health.givenUp}</h2>
          <p>{health.givenUpLead}</p>
        </div>
        {count > 0 && <Badge tone="bad">{formatCount(count)}</Badge>}
      </header>
      {count === 0 ? (
        <p className="line g2">
          <CircleCheck className="i ok-i" aria-hidden="true" />
          {health.nothingGivenUp}
        </p>
      ) : (
        <>
          <p className="fix line g2 wrap">
            <span className="second">{health.tryAgain}</span>
            <code>{retry}</code>
            <CopyButton value={retry} label={`${text.common.copy}: ${retry}`} />
          </p>
          <ScrollFrame className="jobs" label={health.givenUp}>
            <table className="table nolast">
              <thead>
                <tr>
                  <th>{health.work}</th>
                  <th>{health.about}</th>
                  <th>{health.project}</th>
                  <th className="end">{health.attempts}</th>
                  <th>{health.givenUpAt}</th>
                  <th>{health.why}</th>
                </tr>
              </thead>
              <tbody>
                {newest.map(({ kind, projectId, subject, attempts, diedAt, error }) => (
                  <tr key={`${kind} ${projectId} ${subject}`}>
                    <td className="main mono">{kind}</td>
                    <td className="mono">{subject}</td>
                    <td className="mono">{projectId}</td>
                    <td className="end num">{formatCount(attempts)}</td>
                    <td>
                      <Moment at={diedAt} />
                    </td>
                    <td className="why">{error}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </ScrollFrame>
          {count > newest.length && <p className="quiet">{health.newestOf(newest.length, formatCount(count))}</p>}
        </>
      )}
    </section>
  );
}
