import { formatBytes } from '../../format.ts';
import type { Role } from '../../queries.ts';
import { later } from '../../text/later.ts';
import { text } from '../../text/text.ts';
import type { Event } from './events.ts';
import type { Names } from './names.ts';

export interface InWords {
  /** What happened. */
  what: string;
  /** What it was done to, if that has a name. */
  thing: string | undefined;
  /** What else there is to say. */
  facts: readonly string[];
}

const isRole = (value: unknown): value is Role => value === 'owner' || value === 'editor' || value === 'viewer';

/** An event as people say it, without facts that its subject lacks, and without counts of zero. */
export function inWords({ type, subject }: Event, names: Names): InWords {
  const { name, fileName, email, userId, apiKeyId, role, files, folders, bytes } = subject;
  const { audit } = later;
  const { common, members } = text;
  const own = [name, fileName, email].find((value) => typeof value === 'string' && value !== '');
  const person = typeof userId === 'string' ? names.ofUser(userId) : undefined;
  const key = typeof apiKeyId === 'string' ? names.ofKey(apiKeyId) : undefined;
  const isChange = type === 'project.updated';
  return {
    what: audit.types[type],
    thing: isChange ? undefined : typeof own === 'string' ? own : (person ?? key),
    facts: [
      ...(isChange ? Object.keys(subject).filter((field) => field !== 'projectId') : []),
      ...(isRole(role) ? [members.roles[role]] : []),
      ...(typeof files === 'number' && files > 0 ? [common.files(files)] : []),
      ...(typeof folders === 'number' && folders > 0 ? [common.folders(folders)] : []),
      ...(typeof bytes === 'number' && bytes > 0 ? [formatBytes(bytes)] : []),
    ],
  };
}
