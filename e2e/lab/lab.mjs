import { parseArgs } from 'node:util';
import { faults } from './faults.mjs';

const nameColumns = Math.max(...Object.keys(faults).map((name) => name.length)) + 2;
const usage = `Usage: npm run lab -- <fault> [--seed N] [--short] [--any-times]
Breaks one part of a Cadiz of three replicas, holds what clients saw against what is promised, and ends with 1 if a promise did not hold;
with --any-times, only if one did not hold that is not about a time, for a machine with other work.

${Object.entries(faults)
  .map(([name, { does }]) => `  ${name.padEnd(nameColumns)}${does}`)
  .join('\n')}`;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { seed: { type: 'string' }, short: { type: 'boolean', default: false }, 'any-times': { type: 'boolean' } },
});
const fault = faults[positionals[0] ?? ''];
const seed = Number(values.seed ?? Math.floor(Math.random() * 1e6));
if (!fault || positionals.length !== 1 || !Number.isInteger(seed)) {
  console.error(usage);
  process.exit(2);
}

const missing = fault.missing();
if (missing !== undefined) {
  console.log(`LEFT OUT: ${positionals[0]}, because ${missing}.`);
  process.exit(0);
}
console.log(`${positionals[0]}, seed ${seed}`);
const figures = await fault.run({ seed, short: values.short });
const rows = figures.map(({ name, measured, bound, holds }) => [name, measured, bound, holds ? 'yes' : 'NO']);
const table = [['what', 'measured', 'promised', 'holds'], ...rows];
const widths = [0, 1, 2, 3].map((column) => Math.max(...table.map((row) => row[column]?.length ?? 0)));
for (const row of table)
  console.log(
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
process.exit(figures.every(({ holds, isTime }) => holds || (isTime && values['any-times'])) ? 0 : 1);
