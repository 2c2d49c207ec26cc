import type { Examination } from '../../checkup/examination.ts';
import type { Finding } from './doctor-run.ts';

// What a run of the doctor says about itself, beside the checks.

/** Some checks were not made. */
export function toStopped(examineSeconds: number): Finding {
  return {
    id: 'time',
    section: 'The doctor',
    title: 'All checks were made in time',
    status: 'failed',
    found: `They were stopped after ${examineSeconds} seconds; those that are not listed were not made.`,
    mend: 'Find out why the object store answers slowly. npm run doctor takes the time that it needs.',
  };
}

/** Something that the checks have created may still be there. */
export function toLeft({ prefix }: Pick<Examination, 'prefix'>): Finding {
  return {
    id: 'left',
    section: 'The doctor',
    title: 'What the checks created was removed',
    status: 'warning',
    found: `Objects under ${prefix} may be left in the bucket.`,
    mend: 'Remove them by hand, and make sure that the access key may list, remove and abort.',
  };
}
