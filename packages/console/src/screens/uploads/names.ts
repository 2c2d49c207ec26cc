import type { Client, ListedFile, ListedFolder, Listing } from '@cadiz/client';
import { codeOf } from '../../api.ts';

/** As the service compares names, whatever the language of the browser: regardless of case, and of how accents are composed. */
export const toNameKey = (name: string): string => name.normalize('NFC').toLowerCase().toUpperCase().normalize('NFC');

/** What is called so in a folder. */
export interface Named {
  file?: ListedFile | undefined;
  folder?: ListedFolder | undefined;
}

/** The names of one folder. */
export interface Names {
  /** What the folder is called; the project's name for its root. */
  folderName: string;
  /** @throws CadizError */
  find(name: string): Promise<Named>;
}

/** The most that one page lists. */
const pageSize = 1000;

/** Up to this many names are searched for one by one in a large folder; for more, all of it is read. */
const mostSearched = 20;

/**
 * Reads the names of a folder: with one request if it is not large, and of a large one only what is asked for, unless
 * that is much. The service itself lets two files have the same name.
 *
 * @param wanted how many names will be asked for
 * @throws CadizError
 */
export async function readNames({ files }: Client, folder: string | null, wanted: number): Promise<Names> {
  const read = (more: { search?: string; cursor?: string } = {}) =>
    files.page({ folder, sort: 'name', limit: pageSize, ...more });

  async function readAll(first: Listing, search: { search?: string } = {}): Promise<(name: string) => Named> {
    const pages = [first];
    for (let page = first; page.nextCursor !== null; pages.push(page))
      page = await read({ ...search, cursor: page.nextCursor });
    const byKey = new Map<string, Named>();
    for (const page of pages) {
      for (const file of page.files) {
        const key = toNameKey(file.fileName);
        byKey.set(key, { file, ...byKey.get(key) });
      }
      for (const folder of page.folders) {
        const key = toNameKey(folder.name);
        byKey.set(key, { ...byKey.get(key), folder });
      }
    }
    return (name) => byKey.get(toNameKey(name)) ?? {};
  }

  /** Nothing can have a name that cannot be searched for. */
  async function search(name: string): Promise<Named> {
    try {
      return (await readAll(await read({ search: name }), { search: name }))(name);
    } catch (error) {
      if (codeOf(error) === 'invalid_request') return {};
      throw error;
    }
  }

  const first = await read();
  const folderName = first.breadcrumbs.at(-1)?.name ?? '';
  if (first.nextCursor !== null && wanted <= mostSearched) return { folderName, find: search };
  const find = await readAll(first);
  return { folderName, find: async (name) => find(name) };
}
