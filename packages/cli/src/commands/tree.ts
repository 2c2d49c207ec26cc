import type { Run } from '../command.ts';
import { connect } from '../context.ts';
import { count, readWhole, toSize } from '../format.ts';
import { printable } from '../output.ts';
import { findFolder, parentOf, readRemotePath, showRemote } from '../paths.ts';
import { type RemoteTree, readRemoteTree } from '../transfer/remote-tree.ts';

export const run: Run<'tree'> = async (context, { args: [path = '/'], options }) => {
  const depth = options.level === undefined ? Number.POSITIVE_INFINITY : readWhole('level', options.level, 1, 1000);
  const client = await connect(context);
  const folder = await findFolder(client, readRemotePath(path));
  const tree = await readRemoteTree(client, folder.id);
  const bytes = tree.files.reduce((sum, { file }) => sum + file.fileSize, 0);
  const value = {
    folders: tree.folders.map(({ path, folder }) => ({ path, id: folder.id })),
    files: options.folders ? [] : tree.files.map(({ path, file }) => ({ path, id: file.id, fileSize: file.fileSize })),
    totals: { folders: tree.folders.length, files: tree.files.length, bytes },
  };
  const lines = [showRemote(folder.path), ...draw(tree, { depth, hasFiles: !options.folders })];
  const totals = `${count(tree.folders.length, 'folder')}, ${count(tree.files.length, 'file')}, ${toSize(bytes)}`;
  context.output.print(value, `${lines.map(printable).join('\n')}\n\n${totals}\n`);
};

interface Node {
  name: string;
  path?: string;
}

function draw({ files, folders }: RemoteTree, { depth, hasFiles }: { depth: number; hasFiles: boolean }): string[] {
  const children = new Map<string, Node[]>();
  const add = (path: string, node: Node) => {
    const siblings = children.get(parentOf(path)) ?? [];
    children.set(parentOf(path), siblings);
    siblings.push(node);
  };
  for (const { path, folder } of folders) add(path, { name: folder.name, path });
  if (hasFiles) for (const { path, file } of files) add(path, { name: file.fileName });
  const lines: string[] = [];
  const show = (parent: string, prefix: string, level: number): void => {
    const nodes = children.get(parent) ?? [];
    for (const [index, { name, path }] of nodes.entries()) {
      const isLast = index === nodes.length - 1;
      lines.push(`${prefix}${isLast ? '└── ' : '├── '}${name}${path === undefined ? '' : '/'}`);
      if (path !== undefined && level < depth) show(path, `${prefix}${isLast ? '    ' : '│   '}`, level + 1);
    }
  };
  show('', '', 1);
  return lines;
}
