import type { Dirent } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { systemCode } from './disk-error.ts';
import { isThere, journalPath } from './journal.ts';
import { readJournal, readJournalHead } from './journal-file.ts';
import { isPackName } from './packs.ts';
import { namesIn } from './require-index.ts';
import type { Verification } from './verification.ts';

const elsewhere = 'it does not belong here, and no start will clear it away';

/** A file that no object refers to is fine if the next start clears it away. */
function judgeFile({ sofar, report }: Verification, path: string, isSwept: boolean): void {
  if (isSwept) sofar.leftovers += 1;
  else report('stray', path, 'nothing refers to this file, and no start will clear it away');
}

/** Looks for files that nothing refers to. */
export async function findStrays(verification: Verification): Promise<void> {
  const { folder, index, sofar, report } = verification;
  const openGeneration = index.blobs.readOpenGeneration();
  for (const entry of await entriesIn(join(folder, 'incoming'))) {
    if (entry.isFile()) judgeFile(verification, join('incoming', entry.name), true);
    else report('stray', join('incoming', entry.name), elsewhere);
  }
  for (const generation of await entriesIn(join(folder, 'blobs'))) {
    const path = join('blobs', generation.name);
    const isGeneration = /^[0-9a-f]{8}$/.test(generation.name);
    if (!generation.isDirectory()) report('stray', path, elsewhere);
    const isOpen = isGeneration && Number.parseInt(generation.name, 16) >= openGeneration;
    for (const blob of await entriesIn(join(folder, path))) {
      const isInPlace = blob.name.startsWith(`${generation.name}-`);
      if (isInPlace && index.blobs.has(blob.name)) continue;
      const isSwept = isOpen || (isInPlace && index.blobs.isDoomed(blob.name));
      if (blob.isFile()) judgeFile(verification, join(path, blob.name), isSwept);
      else report('stray', join(path, blob.name), elsewhere);
    }
  }
  const packs = index.packs.all();
  for (const entry of await entriesIn(join(folder, 'packs'))) {
    const path = join('packs', entry.name);
    if (!entry.isFile() || !isPackName(entry.name)) report('stray', path, elsewhere);
    else if (!packs.has(entry.name)) judgeFile(verification, path, true);
  }
  sofar.setAside = (await namesIn(join(folder, 'set-aside'))).length;
}

/** Checks that the index could be rebuilt from its journal. One that lacks the last changes is replaced by the next start. */
export async function verifyJournal({ folder, index, report }: Verification): Promise<void> {
  const path = journalPath(folder);
  const { history, sequence } = index.tables.position();
  if (!(await isThere(path))) return;
  const head = await readJournalHead(path);
  if (head?.history !== history) return report('journal', 'journal', 'it cannot be read, or belongs to another index');
  let damaged: number | undefined;
  let last = head?.sequence ?? 0;
  const advice = 'move it away, and the next start writes a new one';
  for await (const { line, entry } of readJournal(path)) {
    if (damaged !== undefined) report('journal', 'journal', `line ${damaged} is damaged: ${advice}`);
    damaged = entry ? undefined : line;
    last = entry?.sequence ?? last;
  }
  if (last <= sequence) return;
  const older = `it ends with change ${sequence}, and its journal with change ${last}`;
  report('index', 'index', `it is older than its journal: ${older}; rebuild it with verify --rebuild`);
}

async function entriesIn(path: string): Promise<Dirent[]> {
  try {
    return await readdir(path, { withFileTypes: true });
  } catch (error) {
    if (systemCode(error) === 'ENOENT' || systemCode(error) === 'ENOTDIR') return [];
    throw error;
  }
}
