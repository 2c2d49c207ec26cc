import type { DownloadUrl, Input } from '@cadiz/contract';
import type { z } from 'zod';
import type { Caller } from '../../access/caller.ts';
import { signImages } from '../../images/sign-images.ts';
import { Problem } from '../../problem.ts';
import { openFiles } from '../../tree/open-file.ts';
import type { DownloadDeps } from './create-download-url.ts';
import { signDownload } from './sign-download.ts';

type SignedUrl = { fileId: string } & z.output<typeof DownloadUrl>;

/** Creates the URLs of many files, as `createDownloadUrl` does for each; one statement reads all files. */
export async function createDownloadUrls(
  deps: DownloadDeps,
  caller: Caller,
  { fileIds, image, ...wanted }: Input<'createDownloadUrls'>,
): Promise<{ urls: (SignedUrl | { fileId: string; problem: Problem })[] }> {
  const files = await openFiles(deps, caller, fileIds, 'files:read');
  const images = image && (await signImages(deps, [...files.values()], { options: image, ...wanted }));
  const urls = fileIds.map((fileId) => {
    const file = files.get(fileId);
    if (!file) return { fileId, problem: new Problem('file_not_found') };
    const signed = images ? images.get(fileId) : signDownload(deps, file, wanted);
    return !signed || signed instanceof Problem
      ? { fileId, problem: signed ?? new Problem('file_not_found') }
      : { fileId, ...signed };
  });
  return { urls };
}
