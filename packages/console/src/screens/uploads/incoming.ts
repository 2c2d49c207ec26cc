import type { Client, QueueEntry, Source } from '@cadiz/client';
import { toSources } from '../files/picture.tsx';
import type { Conflict, Decision } from './conflicts.ts';
import { type Named, type Names, readNames, toNameKey } from './names.ts';

/** What somebody wants to upload is compared with what is there already, and with itself. */

/** A file on its way to a folder. */
export interface Incoming {
  file: Source;
  /** Where it goes beneath the folder that it was dropped on; '' for that one. */
  directory: string;
  name: string;
  /** The id of the file that it takes the place of. */
  replaces?: string | undefined;
}

/** What has a name already: a file in the folder, or one on its way there. */
export interface Taken {
  /** The id of a file in the folder. */
  id?: string | undefined;
  size: number;
  /** When it was added or changed. */
  at: string | number | undefined;
  picture?: Blob | readonly string[] | undefined;
  /** Makes way for another. */
  replace(by: Incoming): void;
}

/** A folder that something goes to, with what goes there. */
interface Place {
  folderName: string;
  find(name: string): Promise<Taken | undefined>;
  put(name: string, taken: Taken): void;
}

interface Asked {
  client: Client;
  /** Where they go; null for the root. */
  folderId: string | null;
  files: readonly Incoming[];
  /** What is on its way there at this moment, by its directory and name. */
  readOnTheWay: () => ReadonlyMap<string, Taken>;
  /** @returns undefined if nothing is to be uploaded */
  ask(conflict: Conflict): Promise<Decision | undefined>;
}

export const toIncoming = (entry: File | QueueEntry): Incoming => {
  const { file, path, name } = 'file' in entry ? entry : { file: entry };
  const parts = (path ?? file.webkitRelativePath ?? '').split('/').filter(Boolean);
  return { file, directory: parts.slice(0, -1).join('/'), name: name ?? parts.at(-1) ?? file.name ?? '' };
};

export const toEntry = ({ file, directory, name, replaces }: Incoming): QueueEntry => ({
  file,
  path: directory === '' ? name : `${directory}/${name}`,
  name,
  ...(replaces !== undefined && { replaces }),
});

/** The bytes of a picture that is in this browser. */
export const toPicture = (file: Source): Blob | undefined =>
  file instanceof Blob && file.type.startsWith('image/') ? file : undefined;

/** The same for files whose names are the same to the service, in one folder. */
export const toPlaceKey = ({ directory, name }: { directory: string; name: string }): string =>
  `${toNameKey(directory)}/${toNameKey(name)}`;

/**
 * Asks what becomes of files whose names are taken. Others may take or give up names before the answer, so the names are read again then.
 *
 * @returns what is to be uploaded; undefined if nothing is
 * @throws CadizError
 */
export async function settleNames(asked: Asked): Promise<Incoming[] | undefined> {
  let files: readonly Incoming[] = asked.files;
  let forAll: Decision | undefined;
  for (let hasAsked = false; ; hasAsked = false) {
    const settled = await settleOnce({
      ...asked,
      files,
      async ask(conflict) {
        if (forAll) return forAll;
        hasAsked = true;
        const decision = await asked.ask(conflict);
        if (decision?.isForAll) forAll = decision;
        return decision;
      },
    });
    if (!settled || !hasAsked) return settled;
    files = settled;
  }
}

async function settleOnce({ client, folderId, files, readOnTheWay, ask }: Asked): Promise<Incoming[] | undefined> {
  const places = createPlaces(client, folderId, files, readOnTheWay());
  const chosen = new Set<Incoming>();
  const conflicts: Incoming[] = [];

  function choose(place: Place, file: Incoming): void {
    chosen.add(file);
    place.put(file.name, {
      size: file.file.size,
      at: file.file.lastModified,
      picture: toPicture(file.file),
      replace(by) {
        chosen.delete(file);
        by.replaces = file.replaces;
      },
    });
  }

  for (const file of files) {
    const place = await places(file.directory);
    const taken = await place.find(file.name);
    // The file that it was to replace is gone.
    if (!taken) file.replaces = undefined;
    if (taken && !isReplaced(taken, file)) conflicts.push(file);
    else choose(place, file);
  }
  for (const [index, file] of conflicts.entries()) {
    const place = await places(file.directory);
    const taken = await place.find(file.name);
    // The other file of this name has been left out by now.
    if (!taken) {
      choose(place, file);
      continue;
    }
    const freeName = await findFreeName(place, file.name);
    const decision = await ask({
      name: file.name,
      mine: { size: file.file.size, at: file.file.lastModified, picture: toPicture(file.file) },
      theirs: taken,
      freeName,
      folderName: place.folderName,
      others: conflicts.length - index - 1,
      count: files.length,
    });
    if (!decision) return undefined;
    if (decision.how === 'skip') continue;
    if (decision.how === 'replace') taken.replace(file);
    else {
      file.name = freeName;
      file.replaces = undefined;
    }
    choose(place, file);
  }
  return [...chosen];
}

const isReplaced = ({ id }: Taken, { replaces }: Incoming): boolean => replaces !== undefined && id === replaces;

/** Finds the folders beneath one by their paths, as the service compares them; those that do not exist yet are empty. */
function createPlaces(
  client: Client,
  folderId: string | null,
  files: readonly Incoming[],
  onTheWay: ReadonlyMap<string, Taken>,
): (directory: string) => Promise<Place> {
  const wanted = countBy(files, ({ directory }) => toNameKey(directory));
  const names = new Map<string, Promise<Names | undefined>>();
  const places = new Map<string, Promise<Place>>();

  function namesOf(directory: string): Promise<Names | undefined> {
    const known = names.get(toNameKey(directory)) ?? readDirectory(directory);
    names.set(toNameKey(directory), known);
    return known;
  }

  async function readDirectory(directory: string): Promise<Names | undefined> {
    const count = wanted.get(toNameKey(directory)) ?? 0;
    if (directory === '') return readNames(client, folderId, count);
    const parts = directory.split('/');
    const parent = await namesOf(parts.slice(0, -1).join('/'));
    const { folder }: Named = (await parent?.find(parts.at(-1) ?? '')) ?? {};
    return folder && readNames(client, folder.id, count);
  }

  async function open(directory: string): Promise<Place> {
    const found = await namesOf(directory);
    const put = new Map<string, Taken>();
    return {
      folderName: found?.folderName ?? directory,
      async find(name) {
        const { file }: Named = put.has(toNameKey(name)) ? {} : ((await found?.find(name)) ?? {});
        const inFolder: Taken | undefined = file && {
          id: file.id,
          size: file.fileSize,
          at: file.createdAt,
          picture: toSources(file),
          replace(by) {
            by.replaces = file.id;
          },
        };
        return put.get(toNameKey(name)) ?? onTheWay.get(toPlaceKey({ directory, name })) ?? inFolder;
      },
      put: (name, taken) => void put.set(toNameKey(name), taken),
    };
  }

  return (directory) => {
    const place = places.get(toNameKey(directory)) ?? open(directory);
    places.set(toNameKey(directory), place);
    return place;
  };
}

function countBy<T>(some: Iterable<T>, toKey: (one: T) => string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const one of some) counts.set(toKey(one), (counts.get(toKey(one)) ?? 0) + 1);
  return counts;
}

const utf8 = new TextEncoder();
const longestName = 255;

/** The name that a file had before it was given a number. */
export const toUnnumbered = (name: string): string => name.replace(/ \(\d+\)(\.[^.]*)?$/, '$1');

/** `photo (2).jpg`, or the next number that is free. */
async function findFreeName(place: Place, name: string): Promise<string> {
  const dot = name.lastIndexOf('.');
  const stem = dot > 0 ? name.slice(0, dot) : name;
  const extension = dot > 0 ? name.slice(dot) : '';
  for (let number = 2; ; number++) {
    const tail = ` (${number})${extension}`;
    const letters = [...stem];
    while (letters.length > 0 && utf8.encode(letters.join('') + tail).length > longestName) letters.pop();
    const free = letters.join('') + tail;
    if (!(await place.find(free))) return free;
  }
}
