import type { DownloadUrl, DownloadUrlRequest } from '@cadiz/contract';
import type { z } from 'zod';
import type { Deps } from '../../deps.ts';
import { toContentDisposition } from '../../serving/content-disposition.ts';
import { toLifetime } from '../../serving/lifetime.ts';
import { toServed } from '../../serving/served-type.ts';
import type { FileRow } from '../../views/file-view.ts';

type Wanted = Omit<z.output<typeof DownloadUrlRequest>, 'image'> & { method?: 'GET' | 'HEAD' };

/** Signs a URL at the object store that serves a file under its name and type. */
export function signDownload(
  deps: Pick<Deps, 'objects' | 'now'>,
  file: Pick<FileRow, 'store_key' | 'file_name' | 'mime_type'>,
  { expiresIn, disposition: wanted, method = 'GET' }: Wanted,
): z.output<typeof DownloadUrl> {
  const { contentType, disposition } = toServed(file.mime_type, wanted);
  const { signedAt, expiresInSeconds } = toLifetime(deps.now(), expiresIn);
  const url = deps.objects.presignGet(file.store_key, {
    method,
    expiresInSeconds,
    signedAt,
    contentType,
    contentDisposition: toContentDisposition(disposition, file.file_name),
  });
  return { url, expiresAt: new Date(signedAt + expiresInSeconds * 1000).toISOString() };
}
