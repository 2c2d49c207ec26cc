import { spawn, spawnSync } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import { join, relative } from 'node:path';

/** Whether the programs that read archives back are installed. */
export const hasZipTools = [
  ['unzip', '-v'],
  ['python3', '--version'],
].every(([program = '', ...args]) => spawnSync(program, args).status === 0);

if (!hasZipTools) console.warn('LEFT OUT: archives were not read back, because unzip or python3 is not installed.');

export interface ReadEntry {
  name: string;
  sizeBytes: number;
  /** As hex. */
  content: string;
  date: number[];
  mode: number;
}

const script = `
import json, sys, zipfile
z = zipfile.ZipFile(sys.argv[1])
if sys.argv[2] == 'all': assert z.testzip() is None
assert all(e.flag_bits & 0x800 for e in z.infolist())
print(json.dumps([dict(name=e.filename, sizeBytes=e.file_size, content=z.read(e).hex() if e.file_size < 1000 else '', date=list(e.date_time), mode=e.external_attr >> 16) for e in z.infolist()]))`;

/** What Python reads from an archive after it has verified every checksum. */
export async function readZip(path: string, check: 'all' | 'index' = 'all'): Promise<ReadEntry[]> {
  return JSON.parse(await run('python3', '-c', script, path, check));
}

/** Fails unless Info-ZIP finds no fault. */
export async function testZip(path: string): Promise<void> {
  await run('unzip', '-tq', path);
}

/** Extracts with Info-ZIP into an empty folder; returns the paths of all files below it. */
export async function extractZip(path: string, folder: string): Promise<string[]> {
  await run('unzip', '-q', path, '-d', folder);
  const below = await readdir(folder, { recursive: true, withFileTypes: true });
  return below.filter((entry) => entry.isFile()).map((entry) => relative(folder, join(entry.parentPath, entry.name)));
}

async function run(command: string, ...args: string[]): Promise<string> {
  const child = spawn(command, args, { env: { ...process.env, LC_ALL: 'C.UTF-8' } });
  const outputs: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => outputs.push(chunk));
  const code = await new Promise((resolve, reject) => child.on('error', reject).on('close', resolve));
  const output = Buffer.concat(outputs).toString();
  if (code !== 0) throw new Error(`${command} ended with ${code}: ${output}`);
  return output;
}
