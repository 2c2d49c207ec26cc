import { createHmac, hkdfSync } from 'node:crypto';
import type { Asker } from '../../access/caller.ts';
import { sameText } from '../../access/same-text.ts';
import { toIdBytes, toIdText } from '../../db/ids.ts';

/** What an archive will contain, who asked for it, and until when it may be fetched. */
export interface ArchiveOrder {
  asker: Asker;
  projectId: string;
  /** Without files and folders, the whole project. */
  fileIds: readonly string[];
  folderIds: readonly string[];
  /** The name of the archive, including `.zip`. */
  name: string;
  /** Milliseconds since 1970: anything uploaded later is left out. */
  madeAt: number;
  /** Whole seconds since 1970. */
  expiresAt: number;
}

/** Encodes orders as text in a URL, so that none of them needs a row. */
export interface ArchiveLinks {
  sign(order: ArchiveOrder): string;
  /** Undefined if the token is not ours or has expired. */
  open(token: string): ArchiveOrder | undefined;
}

type Facts = [
  kind: Asker['kind'],
  id: string,
  projectId: string,
  name: string,
  madeAt: number,
  expiresAt: number,
  files: number,
];

/**
 * @param secret the service's; the key is derived from it with a label, so that signatures made for other purposes are
 *   not valid here. The number in the label increases whenever the signed facts change.
 */
export function createArchiveLinks(secret: string, now: () => number): ArchiveLinks {
  const key = Buffer.from(hkdfSync('sha256', secret, '', 'cadiz archive links 2', 32));
  const toMac = (text: string) => createHmac('sha256', key).update(text).digest('base64url');
  return {
    sign({ asker, projectId, fileIds, folderIds, name, madeAt, expiresAt }) {
      const facts: Facts = [asker.kind, asker.id, projectId, name, madeAt, expiresAt, fileIds.length];
      const ids = Buffer.concat([...fileIds, ...folderIds].map(toIdBytes));
      const text = `${encode(JSON.stringify(facts))}.${encode(ids)}`;
      return `${text}.${toMac(text)}`;
    },
    open(token) {
      const [facts = '', ids = '', mac = '', ...more] = token.split('.');
      if (more.length > 0 || !sameText(mac, toMac(`${facts}.${ids}`))) return undefined;
      const [kind, id, projectId, name, madeAt, expiresAt, files] = JSON.parse(decode(facts).toString()) as Facts;
      if (expiresAt * 1000 <= now()) return undefined;
      const all = toIds(decode(ids));
      const fileIds = all.slice(0, files);
      const folderIds = all.slice(files);
      return { asker: { kind, id }, projectId, fileIds, folderIds, name, madeAt, expiresAt };
    },
  };
}

function encode(bytes: Buffer | string): string {
  return Buffer.from(bytes as string).toString('base64url');
}

function decode(text: string): Buffer {
  return Buffer.from(text, 'base64url');
}

function toIds(bytes: Buffer): string[] {
  return Array.from({ length: bytes.length / 16 }, (_, i) => toIdText(bytes.subarray(i * 16, (i + 1) * 16)));
}
