import { parseArgs } from 'node:util';
import { pino } from 'pino';
import { Problem } from '../problem.ts';
import { readSettings } from '../settings/settings-file.ts';
import { toSentence, writeWarning } from '../start/start-error.ts';
import { openUsers } from './open-users.ts';
import { runCommand, usage } from './run-command.ts';

try {
  const { values, positionals } = parseArgs({
    options: {
      help: { type: 'boolean', short: 'h', default: false },
      'revoke-api-keys': { type: 'boolean', default: false },
    },
    allowPositionals: true,
  });
  const [command, email, ...rest] = positionals;
  if (values.help || command === undefined || rest.length > 0) {
    process.stdout.write(usage);
    process.exitCode = values.help ? 0 : 1;
  } else {
    const config = readSettings(writeWarning);
    const users = await openUsers(config, pino({ level: config.logLevel, errorKey: 'error' }, pino.destination(2)));
    try {
      const revokeApiKeys = values['revoke-api-keys'];
      process.stdout.write(`${await runCommand(users, { command, email, revokeApiKeys })}\n`);
    } finally {
      await users.close();
    }
  }
} catch (error) {
  // The message of a Problem already is a sentence for people.
  process.stderr.write(`${error instanceof Problem ? error.message : toSentence(error, 'The command')}\n`);
  process.exitCode = 1;
}
