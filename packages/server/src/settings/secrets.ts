import { randomBytes } from 'node:crypto';
import { closeSync, fsyncSync, linkSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { parseJson } from '../parse-json.ts';
import type { Config } from './config.ts';
import { makeFolder } from './data-folder.ts';

export const Secrets = z.object({
  secret: z.string().min(32),
  storeAccessKeyId: z.string(),
  storeSecretAccessKey: z.string(),
});
export type Secrets = z.output<typeof Secrets>;

/**
 * The secrets that are not set as settings: generated once, and kept in `secrets.json` in the data folder, readable only by its
 * owner. Two processes that start at once agree on one file, since only one of them can link it.
 * @throws Error with a sentence when the file is damaged
 */
export function readOrMakeSecrets(dataDir: string): Secrets {
  makeFolder(dataDir);
  const path = join(dataDir, 'secrets.json');
  return readSecrets(path) ?? makeSecrets(dataDir, path);
}

/**
 * Writes secrets of a backup, unless the data folder has some. What is not given is generated.
 * @returns what the data folder has then
 */
export function keepSecrets(dataDir: string, given: Partial<Secrets>): Secrets {
  makeFolder(dataDir);
  const path = join(dataDir, 'secrets.json');
  return readSecrets(path) ?? makeSecrets(dataDir, path, given);
}

/** The secrets in the data folder, if there are any. */
export function findSecrets(dataDir: string): Secrets | undefined {
  return readSecrets(join(dataDir, 'secrets.json'));
}

/** Whether the settings leave any secret to be generated. */
export function needsSecrets({ secret, objectStore }: Config): boolean {
  if (secret === undefined) return true;
  return objectStore.kind === 'embedded' && !(objectStore.accessKeyId && objectStore.secretAccessKey);
}

function readSecrets(path: string): Secrets | undefined {
  let content: string;
  try {
    content = readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  const parsed = Secrets.safeParse(parseJson(content));
  if (!parsed.success) {
    throw new Error(
      `The file ${path} is damaged: restore it from a backup. If there is none, delete it; then everybody must sign in again, second factors stop working, webhooks have to be rotated, and every link gets another URL.`,
    );
  }
  return parsed.data;
}

function makeSecrets(dataDir: string, path: string, given: Partial<Secrets> = {}): Secrets {
  const secrets: Secrets = {
    secret: randomBytes(32).toString('base64url'),
    storeAccessKeyId: `CADIZ${randomBytes(10).toString('hex').toUpperCase()}`.slice(0, 20),
    storeSecretAccessKey: randomBytes(30).toString('base64url'),
    ...given,
  };
  // A name with the id of the process would not be its own: every container has a process 1.
  const draft = `${path}.${randomBytes(6).toString('hex')}`;
  try {
    writeFileSync(draft, `${JSON.stringify(secrets, null, 2)}\n`, { flag: 'wx', mode: 0o600, flush: true });
    linkSync(draft, path);
    const folder = openSync(dataDir, 'r');
    fsyncSync(folder);
    closeSync(folder);
    return secrets;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    return readOrMakeSecrets(dataDir);
  } finally {
    rmSync(draft, { force: true });
  }
}
