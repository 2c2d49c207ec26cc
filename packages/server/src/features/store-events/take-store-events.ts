import type { Answer, Input } from '@cadiz/contract';
import type { Visitor } from '../../access/caller.ts';
import type { Deps } from '../../deps.ts';
import { noteArrived } from '../../tickets/note-arrived.ts';

/**
 * Takes what the object store says has arrived. Events that are doubled, late, out of order or about something else
 * change nothing: they only decide when the service looks.
 */
export async function takeStoreEvents(
  deps: Pick<Deps, 'db' | 'storeSettings' | 'now'>,
  _caller: Visitor,
  { Records }: Input<'storeEvents'>,
): Promise<Answer<'storeEvents'>> {
  const { bucket } = deps.storeSettings;
  const arrived = Records.filter(
    ({ eventName, s3 }) =>
      (eventName === undefined || /^(?:s3:)?ObjectCreated:/.test(eventName)) &&
      (s3.bucket === undefined || s3.bucket.name === bucket),
  );
  const keys = arrived.flatMap(({ s3 }) => [s3.object.key, decode(s3.object.key)]);
  return {
    noted: await noteArrived(
      deps,
      keys.filter((key) => key.isWellFormed()),
    ),
  };
}

/** S3 and MinIO encode a key as in a query; Ceph RGW leaves it as it is. */
function decode(key: string): string {
  try {
    return decodeURIComponent(key.replaceAll('+', ' '));
  } catch {
    // It was not encoded.
    return key;
  }
}
