import type { DownloadUrl, Input } from '@cadiz/contract';
import type { z } from 'zod';
import type { Caller } from '../../access/caller.ts';
import type { Deps } from '../../deps.ts';
import { Problem } from '../../problem.ts';
import { openFiles } from '../../tree/open-file.ts';
import { signDownload } from './sign-download.ts';

type SignedUrl = { fileId: string } & z.output<typeof DownloadUrl>;

/** Creates the addresses of many files, as `createDownloadUrl` does for each; one statement reads all files. */
export async function createDownloadUrls(
  deps: Pick<Deps, 'db' | 'objects' | 'access' | 'now'>,
  caller: Caller,
  { fileIds, ...wanted }: Input<'createDownloadUrls'>,
): Promise<{ urls: (SignedUrl | { fileId: string; problem: Problem })[] }> {
  const files = await openFiles(deps, caller, fileIds, 'files:read');
  const urls = fileIds.map((fileId) => {
    const file = files.get(fileId);
    if (!file) return { fileId, problem: new Problem('file_not_found') };
    return { fileId, ...signDownload(deps, file, wanted) };
  });
  return { urls };
}
