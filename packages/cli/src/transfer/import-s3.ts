import { toMd5 } from './bytes.ts';
import { changedOf } from './compare.ts';
import { toForeignItem, whyImpossible } from './foreign-item.ts';
import type { Item, Origin } from './import-items.ts';
import { filesFolder, manifestName, parseManifest } from './manifest.ts';
import { type Bucket, type ListedObject, openBucket, readAddress } from './s3-bucket.ts';

/** Objects of a bucket, whose prefixes become folders; or an export that is there. @throws Failure */
export async function readBucket(given: string, env: NodeJS.ProcessEnv, endpoint?: string): Promise<Origin> {
  const { name, prefix } = readAddress(given);
  const bucket = openBucket(name, env, endpoint);
  const objects = new Map<string, ListedObject>();
  for await (const object of bucket.list(prefix)) if (!objects.has(object.key)) objects.set(object.key, object);
  return (await readExported(bucket, prefix, objects)) ?? readObjects(bucket, prefix, objects);
}

function readObjects(bucket: Bucket, prefix: string, objects: ReadonlyMap<string, ListedObject>): Origin {
  // What is beneath `photos/` loses that; of `photos/2027-`, the names keep `2027-`.
  const cut = prefix.lastIndexOf('/') + 1;
  const origin: Origin = { items: [], folders: [], leftOut: [] };
  for (const object of objects.values()) {
    const rest = object.key.slice(cut);
    const isFolder = rest.endsWith('/') && object.size === 0;
    const path = isFolder ? rest.slice(0, -1) : rest;
    const why = whyImpossible(path);
    if (rest === '') continue;
    if (why) origin.leftOut.push({ path: object.key, why, isFailure: true });
    else if (isFolder) origin.folders.push(path);
    else origin.items.push(toItem(bucket, object, path));
  }
  return origin;
}

function toItem(bucket: Bucket, object: ListedObject, path: string): Item {
  const { key, size, etag, changed } = object;
  return toForeignItem({
    path,
    size,
    changed,
    md5: toMd5(etag),
    async look() {
      const { type, metadata, isEncrypted } = await bucket.head(key);
      return { type, metadata, hasOtherMd5: isEncrypted };
    },
    read: (start, end) => bucket.read(object, start, end),
  });
}

/** What `cadiz export` has written beneath a prefix; undefined if there is no manifest. @throws Failure */
async function readExported(
  bucket: Bucket,
  prefix: string,
  objects: ReadonlyMap<string, ListedObject>,
): Promise<Origin | undefined> {
  const inside = prefix === '' || prefix.endsWith('/') ? prefix : `${prefix}/`;
  const object = objects.get(`${inside}${manifestName}`);
  if (!object) return undefined;
  const where = `s3://${bucket.name}/${object.key}`;
  const pieces: Uint8Array[] = [];
  for await (const bytes of bucket.read(object, 0, object.size)) pieces.push(bytes);
  const text = Buffer.concat(pieces).toString();
  // Somebody else's file of this name is an object as any other.
  if (!/^\ufeff?\{"kind":"cadiz-export"/.test(text)) return undefined;
  const { files, folders } = parseManifest(text, where);
  const origin: Origin = { items: [], folders: folders.map(({ path }) => path), leftOut: [] };
  for (const { path, at, size, sha256, type, metadata, externalId } of files) {
    const stored = objects.get(`${inside}${filesFolder}/${at}`);
    if (stored?.size !== size) {
      const why = `${filesFolder}/${at} ${stored ? 'has another size than the manifest says.' : 'is missing.'}`;
      origin.leftOut.push({ path, why, isFailure: true });
      continue;
    }
    const changed = changedOf({ metadata, sha256, etag: '' });
    const look = async () => ({ type, metadata, externalId });
    const read = (start: number, end: number) => bucket.read(stored, start, end);
    origin.items.push(toForeignItem({ path, size, sha256, changed, look, read }));
  }
  return origin;
}
