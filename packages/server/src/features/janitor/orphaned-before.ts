import type { Deps } from '../../deps.ts';

/**
 * The time (Unix milliseconds) before which a storeKey must have been issued for its object to be an orphan if it has
 * no row. By then, record has refused the key for at least the margin, whichever process's clock it goes by, so nothing
 * can be recorded while it is being removed.
 */
export function orphanedBefore({ config, now }: Pick<Deps, 'config' | 'now'>): number {
  return now() - keepMilliseconds(config);
}

/** For how long after its presign an object needs no row. */
export function keepMilliseconds({ recordDeadlineSeconds, janitorMarginSeconds }: Deps['config']): number {
  return (recordDeadlineSeconds + janitorMarginSeconds) * 1000;
}
