import type { Answer, Input } from '@cadiz/contract';
import type { SessionCaller } from '../../access/caller.ts';
import type { Deps } from '../../deps.ts';
import { Problem } from '../../problem.ts';
import type { Passkeys } from './passkeys.ts';

/** @throws Problem sign_in_method_off */
export function requirePasskeys({ accounts }: Pick<Deps, 'accounts'>): Passkeys {
  if (!accounts.passkeys) throw new Problem('sign_in_method_off', 'PASSKEYS is off.');
  return accounts.passkeys;
}

/** @throws Problem sign_in_method_off */
export async function listPasskeys(
  deps: Pick<Deps, 'accounts'>,
  caller: SessionCaller,
): Promise<Answer<'listPasskeys'>> {
  return { passkeys: await requirePasskeys(deps).list(caller) };
}

/** @throws Problem sign_in_method_off, passkey_not_found */
export async function renamePasskey(
  deps: Pick<Deps, 'accounts'>,
  caller: SessionCaller,
  request: Input<'renamePasskey'>,
): Promise<Answer<'renamePasskey'>> {
  return requirePasskeys(deps).rename(caller, request);
}

/** @throws Problem sign_in_method_off, passkey_not_found */
export async function deletePasskey(
  deps: Pick<Deps, 'accounts'>,
  caller: SessionCaller,
  { id }: Input<'deletePasskey'>,
): Promise<Answer<'deletePasskey'>> {
  await requirePasskeys(deps).remove(caller, id);
  return { id, deleted: true };
}
