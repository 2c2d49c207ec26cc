// @ts-check
// Makes the empty database that a first start unpacks: initdb takes four seconds, unpacking half of one.
import { existsSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createDurable, DurableFs } from '../dist/db/durable-fs.js';
import { templatePath } from '../dist/db/embedded.js';

const path = templatePath();
if (!existsSync(path)) {
  const folder = mkdtempSync(join(tmpdir(), 'cadiz-template-'));
  const pglite = await createDurable(new DurableFs(folder, false), undefined);
  const archive = await pglite.dumpDataDir('gzip');
  await pglite.close();
  rmSync(folder, { recursive: true });
  writeFileSync(`${path}.new`, new Uint8Array(await archive.arrayBuffer()));
  renameSync(`${path}.new`, path);
}
