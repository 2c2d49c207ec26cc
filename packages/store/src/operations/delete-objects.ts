import type { Deletion } from '../disk/index-db.ts';
import { type Call, requireBucket, requireKey, sendXml } from '../protocol/call.ts';
import { readXml } from '../protocol/request-body.ts';
import { notImplemented, S3Error } from '../protocol/s3-error.ts';
import { requireNullVersion } from '../protocol/version-id.ts';
import { document, element, textElement } from '../protocol/xml.ts';
import type { XmlElement } from '../protocol/xml-reader.ts';
import { toDeletion, toRefusal } from './delete-object.ts';

const maxBodyBytes = 4 * 1024 * 1024;
const maxKeys = 1000;

/** One key of the request, and why it cannot be deleted, if so. */
interface Wanted extends Deletion {
  versionId?: string;
  refusal?: S3Error;
}

/**
 * POST /bucket?delete: up to 1000 keys in one transaction, with a result for each; a key without an object counts as
 * deleted.
 *
 * @throws S3Error NoSuchBucket, MalformedXML, BadDigest
 */
export async function deleteObjects(call: Call): Promise<void> {
  requireBucket(call);
  const { quiet, wanted } = readDelete(await readXml(call, maxBodyBytes));
  const { index, reaper } = call.store;
  const possible = wanted.filter(({ refusal }) => !refusal);
  const { outcomes, removed } = await index.deleteObjects(call.bucket, possible);
  void reaper.remove(removed);
  for (const [at, outcome] of outcomes.entries()) {
    const refusal = toRefusal(outcome);
    if (refusal) Object.assign(possible[at] ?? {}, { refusal });
  }
  const lines = wanted.filter(({ refusal }) => refusal || !quiet).map(toXml);
  sendXml(call, document('DeleteResult', lines));
}

function readDelete({ name, children }: XmlElement): { quiet: boolean; wanted: Wanted[] } {
  const objects = children.filter((child) => child.name === 'Object');
  const others = children.filter((child) => child.name !== 'Object');
  const [quiet] = others;
  if (name !== 'Delete' || others.length > 1 || (quiet && quiet.name !== 'Quiet')) {
    throw new S3Error('MalformedXML', 'Send a Delete with Object elements and at most one Quiet.');
  }
  if (objects.length < 1 || objects.length > maxKeys) {
    throw new S3Error('MalformedXML', `Name 1 to ${maxKeys} objects, not ${objects.length}.`);
  }
  return { quiet: quiet?.text.trim() === 'true', wanted: objects.map(readObject) };
}

function readObject({ children }: XmlElement): Wanted {
  const fields = new Map(children.map((child) => [child.name, child.text]));
  const key = fields.get('Key') ?? '';
  if (key === '' || fields.size !== children.length) {
    throw new S3Error('MalformedXML', 'Each Object needs one Key, and at most one of each other element.');
  }
  const versionId = fields.get('VersionId');
  const ifMatch = fields.get('ETag');
  const wanted: Wanted = { ...toDeletion(key, ifMatch || undefined), ...(versionId ? { versionId } : {}) };
  const refusal = findRefusal(wanted, [...fields.keys()]);
  return refusal ? { ...wanted, refusal } : wanted;
}

function findRefusal({ key, versionId }: Wanted, fields: readonly string[]): S3Error | undefined {
  try {
    requireKey(key);
    requireNullVersion(versionId);
    const unknown = fields.find((field) => !['Key', 'VersionId', 'ETag'].includes(field));
    return unknown === undefined ? undefined : notImplemented(`DeleteObjects with ${unknown}`);
  } catch (error) {
    if (error instanceof S3Error) return error;
    throw error;
  }
}

function toXml({ key, versionId, refusal }: Wanted): string {
  const named = [textElement('Key', key), ...(versionId ? [textElement('VersionId', versionId)] : [])];
  if (!refusal) return element('Deleted', named);
  return element('Error', [...named, textElement('Code', refusal.code), textElement('Message', refusal.message)]);
}
