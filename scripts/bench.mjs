// @ts-check
// npm run bench [name …]: runs bench/<name>.bench.mjs, or all of them, one after another, each in its own process.
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { prepare, root, run } from './prepare.mjs';

const suffix = '.bench.mjs';
const files = await readdir(join(root, 'bench'));
const known = files
  .filter((file) => file.endsWith(suffix))
  .map((file) => file.slice(0, -suffix.length))
  .sort();
const asked = process.argv.slice(2);
const unknown = asked.filter((name) => !known.includes(name));
if (unknown.length > 0) {
  console.error(`No such benchmark: ${unknown.join(', ')}. Known benchmarks: ${known.join(', ') || 'none'}.`);
  process.exit(1);
}

await prepare();
for (const name of asked.length > 0 ? asked : known) {
  console.log(`\n# ${name}`);
  const code = await run(process.execPath, ['--expose-gc', join(root, 'bench', name + suffix)]);
  if (code !== 0) process.exit(code);
}
