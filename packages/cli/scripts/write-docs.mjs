// @ts-check
// Writes docs/cli.md from the help of every command. With --check it writes nothing, and ends with 1 if the page is out of date.
import { readFileSync, writeFileSync } from 'node:fs';
import { toPage } from '../dist/page.js';

const url = new URL('../../../docs/cli.md', import.meta.url);
if (!process.argv.includes('--check')) writeFileSync(url, toPage());
else if (readFileSync(url, 'utf8') !== toPage()) {
  console.error('docs/cli.md is out of date: run npm run docs');
  process.exitCode = 1;
}
