import { join, resolve } from 'node:path';
import { openIndexDb } from './index-db.ts';
import { brokenRecord } from './index-table.ts';
import { isThere } from './journal.ts';
import { NoStoreFolder, requireIndexFile } from './require-index.ts';
import { lockStoreFolder } from './store.ts';
import { openBroken, openVerification, type Verification, type Verified, type VerifyHandlers } from './verification.ts';
import { findStrays, verifyJournal } from './verify-files.ts';
import { type Referred, verifyObjects } from './verify-objects.ts';

/**
 * Reads every object and part of the store in `dataDir` again, checks its size and MD5, and looks for files that are
 * missing or that nothing refers to. Changes nothing. Memory use does not grow with what is stored.
 *
 * The folder is locked meanwhile: in a running store, where objects are replaced and removed all the time, a missing
 * file could not be told from one that was just removed, and a read that takes hours would keep the index from reusing
 * its pages.
 *
 * @throws StoreFolderInUse, StoreFolderUnwritable, NoStoreFolder, IndexUnusable
 */
export async function verifyStore(dataDir: string, handlers: VerifyHandlers): Promise<Verified> {
  const folder = resolve(dataDir);
  if (!(await isThere(folder))) throw noStore(folder);
  const lock = lockStoreFolder(folder);
  try {
    if (!(await requireIndexFile(folder, { thorough: true }))) throw noStore(folder);
    const broken = openBroken();
    const index = await openIndexDb(join(folder, 'index'), { onBroken: broken.onBroken, unchanged: true });
    try {
      return await verifyAll(openVerification(folder, index, broken, handlers));
    } finally {
      await index.close();
    }
  } finally {
    lock.release();
  }
}

/** Without this a mistyped folder would become an empty store, in which nothing is wrong. */
function noStore(folder: string): NoStoreFolder {
  return new NoStoreFolder(`There is no store in ${folder}.`);
}

async function verifyAll(verification: Verification): Promise<Verified> {
  const { broken, sofar, reportBroken } = verification;
  const referred = await verifyObjects(verification);
  await findStrays(verification);
  verifyPacks(verification, referred.packs);
  reportBroken();
  await verifyJournal(verification);
  // Nobody knows what broken records refer to.
  if (broken.count() === 0) verifyCounts(verification, referred);
  return sofar;
}

/** Packs that have nothing in use any more are removed by the next start. */
function verifyPacks({ index, broken, report }: Verification, live: Referred['packs']): void {
  const listed = index.packs.all();
  for (const pack of live.keys()) {
    if (!listed.has(pack)) report('index', `packs/${pack}`, 'the list of packs lacks it');
  }
  if (broken.count() > 0) return;
  for (const [pack, record] of listed) {
    const bytes = live.get(pack) ?? 0;
    if (record === brokenRecord || record.liveBytes === bytes) continue;
    report('index', `packs/${pack}`, `${record.liveBytes} bytes are listed as in use, but objects refer to ${bytes}`);
  }
}

function verifyCounts({ index, report }: Verification, { blobs, inline }: Referred): void {
  const listed = index.blobs.count();
  if (listed !== blobs) {
    report('index', 'index', `${listed} blobs are listed as in use, but objects and parts refer to ${blobs}`);
  }
  const held = index.countInline();
  if (held !== inline) {
    report('index', 'index', `it has the bytes of ${held} objects, but should have those of ${inline}`);
  }
}
