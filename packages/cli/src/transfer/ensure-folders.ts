import type { Client } from '@cadiz/client';
import { exitCodes, toTold } from '../failure.ts';
import { joinPath } from '../paths.ts';
import type { Target } from './target.ts';

/** As many as one request takes, with room to spare. */
const atOnce = 100;

/**
 * Creates folders of the project that are missing. One that is refused does not stand in the way of the others.
 *
 * @param paths beneath the target
 * @param fail told what could not be created, and why
 * @throws CadizError if the credentials are refused
 */
export async function ensureFolders(
  client: Client,
  { id, folder }: Target,
  paths: readonly string[],
  fail: (path: string, error: unknown) => void,
): Promise<void> {
  const ensure = (some: readonly string[]) =>
    client.folders.ensure(
      some.map((path) => (id === undefined ? joinPath(...(folder ?? '').split('/'), path) : path)),
      { parent: id ?? null },
    );
  for (let start = 0; start < paths.length; start += atOnce) {
    const some = paths.slice(start, start + atOnce);
    const isDone = await ensure(some).then(
      () => true,
      () => false,
    );
    for (const path of isDone ? [] : some) {
      try {
        await ensure([path]);
      } catch (error) {
        if (toTold(error).exitCode === exitCodes.signIn) throw error;
        fail(path, error);
      }
    }
  }
}
