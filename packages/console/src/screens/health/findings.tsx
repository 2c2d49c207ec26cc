import { ChevronDown, CircleCheck, CircleDashed, CircleX, Stethoscope, TriangleAlert } from 'lucide-react';
import { CopyButton } from '../../components/copy-button.tsx';
import { Badge, Empty } from '../../components/parts.tsx';
import { toCheckWords, toSectionName } from '../../text/doctor.ts';
import { later } from '../../text/later.ts';
import { text } from '../../text/text.ts';
import type { Finding, System } from './system-query.ts';

const tones = { ok: 'ok', warning: 'warn', failed: 'bad', skipped: '' } as const;
const severity: readonly Finding['status'][] = ['failed', 'warning', 'ok', 'skipped'];

/** What the doctor found: first what is to be mended, the worst above; the rest in its sections, closed. */
export function Findings({ doctor: { findings, finishedAt } }: { doctor: System['doctor'] }) {
  const { health } = later;
  const bad = findings.filter(({ status }) => status === 'failed');
  const toMend = [...bad, ...findings.filter(({ status }) => status === 'warning')];
  const rest = Map.groupBy(
    findings.filter((finding) => !toMend.includes(finding)),
    ({ section }) => section,
  );
  return (
    <section className="sect">
      <header>
        <div className="grow">
          <h2>{health.findings}</h2>
          <p>{health.findingsLead}</p>
        </div>
        <Counts findings={findings} />
      </header>
      {finishedAt === null ? (
        <div className="panel frame">
          <Empty icon={Stethoscope} title={health.neverLooked} hint={health.neverLookedHint} />
        </div>
      ) : (
        <div className="panel frame">
          {toMend.map((finding) => (
            <ToMend key={finding.id} finding={finding} />
          ))}
          {[...rest].map(([section, group]) => (
            <Group key={section} section={section} findings={group} />
          ))}
        </div>
      )}
    </section>
  );
}

/** What is right in a section of the report, and what could not be tried. */
function Group({ section, findings }: { section: string; findings: readonly Finding[] }) {
  const { statuses } = later.health;
  const skipped = findings.filter(({ status }) => status === 'skipped').length;
  const ok = findings.length - skipped;
  const Icon = skipped > 0 ? CircleDashed : CircleCheck;
  return (
    <details className="group">
      <summary className="find-g">
        <Icon className={`i ${skipped > 0 ? '' : 'ok-i'}`} aria-hidden="true" />
        <b>{toSectionName(section)}</b>
        <span className="quiet num grow">
          {[ok > 0 && `${ok} ${statuses.ok}`, skipped > 0 && `${skipped} ${statuses.skipped}`]
            .filter(Boolean)
            .join(', ')}
        </span>
        <ChevronDown className="i" aria-hidden="true" />
      </summary>
      <ul>
        {findings.map((finding) => (
          <li key={finding.id}>
            <span className="line g2">
              <span className="grow">{toCheckWords(finding).title}</span>
              {finding.status === 'skipped' && <Badge>{statuses.skipped}</Badge>}
            </span>
            {finding.found && (
              <small className="cap quiet" lang="en">
                {finding.found}
              </small>
            )}
          </li>
        ))}
      </ul>
    </details>
  );
}

function Counts({ findings }: { findings: readonly Finding[] }) {
  const { health } = later;
  return (
    <span className="line g1 wrap">
      {severity.map((status) => {
        const count = findings.filter((finding) => finding.status === status).length;
        return count > 0 && <Badge key={status} tone={tones[status]}>{`${count} ${health.statuses[status]}`}</Badge>;
      })}
    </span>
  );
}

function ToMend({ finding }: { finding: Finding }) {
  const { status, found } = finding;
  const { title, mend } = toCheckWords(finding);
  const Icon = status === 'failed' ? CircleX : TriangleAlert;
  return (
    <article className="find">
      <Icon className={`i ${tones[status]}-i`} aria-hidden="true" />
      <h3>{title}</h3>
      <Badge tone={tones[status]}>{later.health.statuses[status]}</Badge>
      <p lang="en">{found}</p>
      {mend !== null && (
        <div className="fix second">
          <Mend mend={mend} />
        </div>
      )}
    </article>
  );
}

/** What to do, with what stands between backticks as code to copy. */
function Mend({ mend }: { mend: string }) {
  const parts = mend.split('`').map((part, index) => ({ part, isCode: index % 2 === 1 }));
  return parts.map(({ part, isCode }) =>
    isCode ? (
      <span key={part} className="nowrap">
        <code>{part}</code>
        <CopyButton value={part} label={`${text.common.copy}: ${part}`} />
      </span>
    ) : (
      part
    ),
  );
}
