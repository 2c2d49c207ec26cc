import { pino } from 'pino';
import { readSettings } from '../settings/settings-file.ts';
import { writeWarning } from '../start/start-error.ts';
import { tellFailure } from '../start/tell-failure.ts';
import { openLogOutput } from '../telemetry/log.ts';
import { openUsers } from './open-users.ts';
import { type Command, listAccounts, runCommand } from './run-command.ts';

/**
 * Manages the accounts of the service that the settings describe: one command, whose outcome goes to standard output.
 *
 * @param json whether that is JSON
 * @returns the exit code of the process
 */
export async function manageUsers(command: Command, json: boolean): Promise<number> {
  try {
    const config = readSettings(writeWarning);
    const users = await openUsers(config, pino({ level: config.logLevel, errorKey: 'error' }, openLogOutput()));
    try {
      if (json && command.command === 'list') write({ users: await listAccounts(users) });
      else if (json) write({ message: await runCommand(users, command) });
      else process.stdout.write(`${await runCommand(users, command)}\n`);
    } finally {
      await users.close();
    }
    return 0;
  } catch (error) {
    return tellFailure(error, 'The command', json);
  }
}

const write = (value: object) => void process.stdout.write(`${JSON.stringify(value, null, 2)}\n`);
