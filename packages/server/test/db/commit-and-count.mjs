// Commits rows one after the other, and counts the flushes to the disk meanwhile. The lines before and after go to
// standard output at once, so that strace shows them in place among the fsyncs.
import { writeSync } from 'node:fs';
import pg from 'pg';
import { openEmbedded } from '../../dist/db/embedded.js';

const [dataDir = '', commits = '0'] = process.argv.slice(2);
const embedded = await openEmbedded(dataDir);
const client = new pg.Client({ stream: () => embedded.connect(), user: 'postgres', database: 'postgres' });
await client.connect();
await client.query('create table records (id int primary key)');
const before = await embedded.countFsyncs();
writeSync(1, 'begin\n');
for (let id = 0; id < Number(commits); id += 1) {
  await client.query('insert into records values ($1)', [id]);
  writeSync(1, `committed ${id}\n`);
}
// Touches WAL segments, data files and folders, all of which must be flushed as well.
await client.query('insert into records select generate_series(1000, 300000)');
await client.query('checkpoint');
writeSync(1, 'end\n');
writeSync(1, `counted ${(await embedded.countFsyncs()) - before}\n`);
await client.end();
await embedded.close();
