import type { Config } from '../../settings/config.ts';

/** The public URL of the service, to which passkeys are bound. If its host changes, no passkey is found any more. */
export function toRelyingParty({ publicUrl }: Pick<Config, 'publicUrl'>): { id: string; origin: string } {
  const { origin, hostname } = new URL(publicUrl);
  return { id: hostname, origin };
}
