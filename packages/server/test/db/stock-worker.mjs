// The embedded database on PGlite's own file system, which has no fsync.
import { NodeFS } from '@electric-sql/pglite/nodefs';
import { serveEmbedded } from '../../dist/db/serve-embedded.js';

class StockFs extends NodeFS {
  fsyncs = 0;
}

await serveEmbedded((folder) => new StockFs(folder));
