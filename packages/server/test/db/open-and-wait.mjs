// Opens the embedded database, says so, and keeps it open; or prints why it cannot.
import { openDatabase } from '../../dist/db/open.js';

try {
  await openDatabase({ kind: 'embedded', dataDir: process.argv[2] ?? '' });
  console.log('open');
} catch (error) {
  console.log(String(error));
}
setInterval(() => undefined, 60_000);
