import type { ListedFile, ListedFolder } from '@cadiz/client';
import type { Run } from '../command.ts';
import { connect } from '../context.ts';
import { toMinute, toSize } from '../format.ts';
import { printable, toTable } from '../output.ts';
import { find, readRemotePath } from '../paths.ts';
import { readPages, readRemoteTree } from '../transfer/remote-tree.ts';

interface Listed {
  files: { path: string; file: ListedFile }[];
  folders: { path: string; folder: ListedFolder }[];
}

export const run: Run<'ls'> = async (context, { args: [path = '/'], options }) => {
  const client = await connect(context);
  const found = await find(client, readRemotePath(path));
  const listed =
    found.kind === 'file'
      ? { files: [{ path: found.name, file: found.file }], folders: [] }
      : options.recursive
        ? await readRemoteTree(client, found.id)
        : await readFolder(found.id);
  const value = {
    folders: listed.folders.map(({ path, folder }) => ({ path, ...folder })),
    files: listed.files.map(({ path, file }) => ({ path, ...file })),
  };
  context.output.print(value, options.long ? toLong(listed) : toNames(listed));

  async function readFolder(id: string | null): Promise<Listed> {
    const all: Listed = { files: [], folders: [] };
    for await (const { files, folders } of readPages(client, id)) {
      all.folders.push(...folders.map((folder) => ({ path: folder.name, folder })));
      all.files.push(...files.map((file) => ({ path: file.fileName, file })));
    }
    return all;
  }
};

const toNames = ({ files, folders }: Listed): string =>
  [...folders.map(({ path }) => `${path}/`), ...files.map(({ path }) => path)]
    .map((name) => `${printable(name)}\n`)
    .join('');

function toLong({ files, folders }: Listed): string {
  const rows = [
    ...folders.map(({ path, folder }) => ['-', toMinute(folder.createdAt), 'folder', folder.id, `${printable(path)}/`]),
    ...files.map(({ path, file }) => [
      toSize(file.fileSize),
      toMinute(file.createdAt),
      file.mimeType,
      file.id,
      printable(path),
    ]),
  ];
  const width = rows.reduce((most, [size = '']) => Math.max(most, size.length), 0);
  return toTable(rows.map(([size = '', ...rest]) => [size.padStart(width), ...rest]));
}
