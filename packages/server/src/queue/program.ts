import { parseArgs } from 'node:util';
import { readSettings } from '../settings/settings-file.ts';
import { openBeside } from '../start/open-beside.ts';
import { toSentence, writeWarning } from '../start/start-error.ts';
import { runCommand, usage } from './run-command.ts';

try {
  const { values, positionals } = parseArgs({
    options: { help: { type: 'boolean', short: 'h', default: false } },
    allowPositionals: true,
  });
  const [command, kind, id, ...rest] = positionals;
  if (values.help || command === undefined || rest.length > 0) {
    process.stdout.write(usage);
    process.exitCode = values.help ? 0 : 1;
  } else {
    const db = await openBeside(readSettings(writeWarning), 'Stop the service, run this again, and start it.');
    try {
      process.stdout.write(`${await runCommand(db, { command, kind, id })}\n`);
    } finally {
      await db.close();
    }
  }
} catch (error) {
  process.stderr.write(`${toSentence(error, 'The command')}\n`);
  process.exitCode = 1;
}
