import type { Config } from '../../settings/config.ts';

/** What passkeys are tied to: the public address of the service. Its host must not change, or none is found any more. */
export function toRelyingParty({ publicUrl }: Pick<Config, 'publicUrl'>): { id: string; origin: string } {
  const { origin, hostname } = new URL(publicUrl);
  return { id: hostname, origin };
}
