import type { Deps } from '../../deps.ts';
import { imageOfFile } from '../../images/image-view.ts';
import { openVariant } from '../../images/open-variant.ts';
import { signVariant } from '../../images/sign-image.ts';
import { toSpec } from '../../images/spec.ts';
import { Problem } from '../../problem.ts';
import { toLifetime } from '../../serving/lifetime.ts';
import { whereInSight } from '../../tree/in-sight.ts';
import { type Asking, imageSeconds, type SignedImage } from './get-image.ts';

/** What the token in a URL leads to: `getImage` without a caller. Whatever is wrong with the token, the problem is the same. */
export async function openImage(
  deps: Pick<Deps, 'db' | 'objects' | 'imageTokens' | 'images' | 'log' | 'now'>,
  token: string,
  { accept, method }: Asking,
): Promise<SignedImage> {
  const { order, file } = await openToken(deps, token);
  const variant = await openVariant(deps, file, toSpec(order.options, accept), () => openToken(deps, token));
  const leftSeconds = Math.max(1, Math.floor(order.expiresAt - deps.now() / 1000));
  const seconds = Math.min(leftSeconds, imageSeconds);
  const lifetime = toLifetime(deps.now(), seconds);
  const url = signVariant(deps, variant, file.file_name, { ...lifetime, method, disposition: order.disposition });
  return { url, cacheSeconds: seconds / 2 };
}

/** @throws Problem image_not_found */
async function openToken({ db, imageTokens }: Pick<Deps, 'db' | 'imageTokens'>, token: string) {
  const order = imageTokens.open(token);
  const file =
    order &&
    (await db.kysely
      .selectFrom('files')
      .selectAll()
      .select(imageOfFile.as('image'))
      .where('id', '=', order.fileId)
      .where(whereInSight)
      .executeTakeFirst());
  if (!file) throw new Problem('image_not_found');
  return { order, file };
}
