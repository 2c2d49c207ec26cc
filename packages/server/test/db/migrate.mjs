// @ts-check
// usage: migrate.mjs URL: connects, says "ready", migrates once its standard input ends, and says what it has applied as JSON.
import { migrate } from '../../dist/db/migrate.js';
import { openDatabase } from '../../dist/db/open.js';

const database = await openDatabase({ kind: 'postgres', url: process.argv[2] ?? '' });
console.log('ready');
await process.stdin.resume().toArray();
const { applied } = await migrate(database.pool);
console.log(JSON.stringify(applied));
await database.close();
