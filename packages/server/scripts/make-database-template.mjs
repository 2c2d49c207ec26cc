// @ts-check
// Makes the empty database that a first start copies: initdb takes four seconds, a copy a tenth of one.
import { existsSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { templatePath } from '../dist/db/embedded.js';
import { foldersPath, listFolders, makeEmptyDatabase, setModes } from '../dist/db/embedded-folder.js';

const path = templatePath();
if (!existsSync(path)) {
  const started = performance.now();
  // Two builds at once each make their own, and the first one stays.
  const draft = `${path}.${process.pid}`;
  await makeEmptyDatabase(draft);
  try {
    renameSync(draft, path);
  } catch (error) {
    rmSync(draft, { recursive: true, force: true });
    if (!existsSync(path)) throw error;
  }
  console.log(`Made the template of the embedded database in ${((performance.now() - started) / 1000).toFixed(1)} s.`);
}
// Initdb keeps a file or two to its owner, and whoever runs the service may be another user than whoever built it.
setModes(path, { folder: 0o755, file: 0o644 });
writeFileSync(foldersPath(path), JSON.stringify(listFolders(path)));
