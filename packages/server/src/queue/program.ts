import { readSettings } from '../settings/settings-file.ts';
import { openBeside } from '../start/open-beside.ts';
import { writeWarning } from '../start/start-error.ts';
import { tellFailure } from '../start/tell-failure.ts';
import { describeQueue, listDeadLetters } from '../work/dead-letters.ts';
import { type Command, listedAtMost, runCommand } from './run-command.ts';

/**
 * Shows the work that the service has yet to do, or retries what it has given up; the outcome goes to standard output.
 *
 * @param json whether that is JSON
 * @returns the exit code of the process
 */
export async function manageQueue(command: Command, json: boolean): Promise<number> {
  try {
    const db = await openBeside(readSettings(writeWarning), 'Stop the service, run this again, and start it.');
    try {
      if (json && command.command === 'list')
        write({ kinds: await describeQueue(db), givenUp: await listDeadLetters(db, listedAtMost) });
      else if (json) write({ message: await runCommand(db, command) });
      else process.stdout.write(`${await runCommand(db, command)}\n`);
    } finally {
      await db.close();
    }
    return 0;
  } catch (error) {
    return tellFailure(error, 'The command', json);
  }
}

const write = (value: object) => void process.stdout.write(`${JSON.stringify(value, null, 2)}\n`);
