import { manageUsers } from '@cadiz/server/users';
import { confirm } from '../ask.ts';
import type { Run } from '../command.ts';
import type { CommandName } from '../table.ts';

type UsersCommand = Extract<CommandName, `users ${string}`>;

export const run: Run<UsersCommand> = async (context, { name, args: [email], options }) => {
  if (name === 'users delete')
    await confirm(context, `Delete the account ${email} with its memberships and API keys?`, context.yes);
  const revokeApiKeys = 'revoke-api-keys' in options && options['revoke-api-keys'] === true;
  const command = name.slice('users '.length);
  return manageUsers({ command, email, revokeApiKeys }, context.output.isJson);
};
