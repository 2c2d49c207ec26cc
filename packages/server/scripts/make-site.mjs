// @ts-check
// Puts together what the service serves besides its API: the console, and the API reference. Each file lies beside its
// compressed twins, which are made once, here.
import { cpSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, gzipSync } from 'node:zlib';

const site = fileURLToPath(new URL('../site', import.meta.url));
const app = fileURLToPath(new URL('../../console/dist/app', import.meta.url));
const out = fileURLToPath(new URL('../dist/site', import.meta.url));
const redoc = createRequire(import.meta.url).resolve('redoc/bundles/redoc.standalone.js');

rmSync(out, { recursive: true, force: true });
cpSync(site, out, { recursive: true });
cpSync(app, out, { recursive: true });
// Its own logo is the one thing that it would ask another host for.
const reference = readFileSync(redoc, 'utf8').replaceAll(/https:\/\/cdn\.redoc\.ly\/[^"']*/g, '/favicon.svg');
writeFileSync(join(out, 'docs/redoc.standalone.js'), reference);
cpSync(`${redoc}.LICENSE.txt`, join(out, 'docs/redoc.standalone.js.LICENSE.txt'));
for (const name of readdirSync(out, { recursive: true, encoding: 'utf8' })) {
  const path = join(out, name);
  if (!statSync(path).isFile() || statSync(path).size < 1024) continue;
  const bytes = readFileSync(path);
  writeFileSync(`${path}.br`, brotliCompressSync(bytes));
  writeFileSync(`${path}.gz`, gzipSync(bytes, { level: 9 }));
}
