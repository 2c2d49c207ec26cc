// Opens each index it is given, reads all of it and writes to it; sends a message before each. Errors thrown by LMDB
// are fine.
import { openIndexTables } from '../dist/disk/index-tables.js';

for (const path of process.argv.slice(2)) {
  process.send?.('next');
  try {
    const tables = await openIndexTables(path);
    const { buckets, objects, inline, blobs, packs, doomed, uploads, parts, doomedUploads, meta } = tables;
    for (const table of [buckets, objects, inline, blobs, packs, doomed, uploads, parts, doomedUploads, meta]) {
      for (const _ of table.entries());
    }
    for (let round = 0; round < 3; round += 1) {
      await tables.commit(() => {
        for (let at = 0; at < 50; at += 1) inline.put(Buffer.from(`photos\0new ${at}`), Buffer.alloc(at * 200));
      });
    }
    await tables.close();
  } catch {
    // It was reported, and the process survives.
  }
}
process.exit(0);
