import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Answer } from '@cadiz/contract';
import type { SessionCaller } from '../../access/caller.ts';
import { toSections } from '../../checkup/checks.ts';
import { createExamination } from '../../checkup/examination.ts';
import { examine, type Result } from '../../checkup/examine.ts';
import { writeNowOrLater } from '../../db/write-later.ts';
import type { Deps } from '../../deps.ts';
import { Problem } from '../../problem.ts';
import { withoutCredentials } from '../../telemetry/log.ts';
import { claimDoctor, type Finding, readDoctorRun, returnDoctor } from './doctor-run.ts';
import { toLeft, toStopped } from './own-findings.ts';

interface Times {
  /** How long the checks may take. */
  examineSeconds: number;
  /** How long removing what they have created may keep the caller waiting. */
  sweepSeconds: number;
}

const usualTimes: Times = { examineSeconds: 60, sweepSeconds: 20 };

/** How much longer than both the lease is, so that a run that is under way is not taken over. */
const marginSeconds = 20;

type DoctorDeps = Pick<Deps, 'db' | 'config' | 'storeSettings' | 'now' | 'log'>;

/**
 * Runs the checks of `npm run doctor` against the object store of the service, and stores what they find, so that every
 * process can show it. It changes nothing but objects of its own, which it removes.
 */
export async function runDoctor(
  deps: DoctorDeps,
  _caller: SessionCaller,
  _input: unknown,
  times: Times = usualTimes,
): Promise<Answer<'runDoctor'>> {
  const lease = randomUUID();
  const leaseSeconds = times.examineSeconds + times.sweepSeconds + marginSeconds;
  if (!(await claimDoctor(deps, lease, leaseSeconds))) throw new Problem('doctor_running');
  let findings: Finding[] | undefined;
  try {
    findings = await examineStore(deps, times);
  } finally {
    await writeNowOrLater(deps, () => returnDoctor(deps, lease, findings), leaseSeconds);
  }
  return readDoctorRun(deps);
}

async function examineStore(
  { config, storeSettings, now }: DoctorDeps,
  { examineSeconds, sweepSeconds }: Times,
): Promise<Finding[]> {
  const { publicUrl } = config;
  const exam = createExamination({
    settings: storeSettings,
    publicUrl,
    origins: [new URL(publicUrl).origin],
    config,
    now,
    signal: AbortSignal.timeout(examineSeconds * 1000),
  });
  const results: Result[] = [];
  const isDone = await inTime(
    examineSeconds,
    examine(exam, toSections(exam), (result) => void results.push(result)),
  );
  const findings = results.map(toFinding);
  if (!isDone || exam.signal.aborted) findings.push(toStopped(examineSeconds));
  let left: readonly string[] = [exam.prefix];
  const sweep = async () => {
    left = await exam.sweep();
    exam.close();
  };
  await inTime(sweepSeconds, sweep());
  if (left.length > 0) findings.push(toLeft(exam));
  return findings;
}

/** Whether something ends within this time. What takes longer goes on. */
async function inTime(seconds: number, work: Promise<unknown>): Promise<boolean> {
  return Promise.race([work.then(() => true), delay(seconds * 1000, false, { ref: false })]);
}

function toFinding({ id, section, title, verdict, found, mend }: Result): Finding {
  return {
    id,
    section,
    title,
    status: verdict,
    found: withoutCredentials(found),
    mend: mend === undefined ? null : withoutCredentials(mend),
  };
}
