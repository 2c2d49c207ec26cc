// Commits one row after the other until it is killed, and prints each row's number once its commit is acknowledged.
import { writeSync } from 'node:fs';
import { openDatabase } from '../../dist/db/open.js';

const [dataDir = '', first = '0'] = process.argv.slice(2);
const { pool } = await openDatabase({ kind: 'embedded', dataDir });
await pool.query('create table if not exists records (id int primary key, name text not null)');
for (let id = Number(first); ; id += 1) {
  await pool.query({ name: 'record', text: 'insert into records values ($1, $2)', values: [id, `record ${id}`] });
  writeSync(1, `${id}\n`);
}
