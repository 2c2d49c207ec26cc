// Does work of the kind `test` until it is killed: writes down each subject in `done`, slowly. Says `listening` when it has begun.
// usage: work-until-killed.mjs <folder of the embedded database, or URL of a PostgreSQL>
import { writeSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { pino } from 'pino';
import { openDatabase } from '../../dist/db/open.js';
import { startWork } from '../../dist/work/run-work.js';

const [database = ''] = process.argv.slice(2);
const isUrl = database.startsWith('postgres:');
const db = await openDatabase(isUrl ? { kind: 'postgres', url: database } : { kind: 'embedded', dataDir: database });
const log = pino({ level: 'silent' });
startWork({ db, log }, [
  {
    name: 'test',
    atOnce: 3,
    ahead: 2,
    async run({ id }) {
      await delay(2);
      await db.pool.query('insert into done (subject) values ($1)', [id]);
      await delay(2);
      writeSync(1, `${id}\n`);
      return undefined;
    },
  },
]);
