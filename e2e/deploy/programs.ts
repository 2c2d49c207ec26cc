import { spawnSync } from 'node:child_process';

/** Whether the tests of what is in `deploy/` run that start other programs. */
export const isAsked = process.env.TEST_DEPLOY === 'on';

/**
 * Whether all these programs are installed. If not, says which tests are left out.
 * @param what the tests are about
 * @param programs with the option that makes each do nothing
 */
export function hasPrograms(what: string, programs: Record<string, string>): boolean {
  const missing = Object.entries(programs)
    .filter(([program, option]) => spawnSync(program, [option], { stdio: 'ignore' }).error !== undefined)
    .map(([program]) => program);
  if (missing.length > 0) console.warn(`LEFT OUT: ${what}, because ${missing.join(' and ')} cannot be run here.`);
  return missing.length === 0;
}
