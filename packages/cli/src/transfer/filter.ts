import ignore from 'ignore';

/** What `--include` and `--exclude` say, both written as in a .gitignore. */
export interface FilterRules {
  include: readonly string[];
  exclude: readonly string[];
}

/** Which files and folders a transfer is about; paths begin at the folder that was named. */
export interface Filter {
  /** Whether it is excluded, and with it everything beneath. */
  excludes(path: string, isFolder: boolean): boolean;
  /** Whether it is transferred. A folder that is not may have files that are. */
  selects(path: string, isFolder: boolean): boolean;
}

/** The filter of these rules. Without `--include`, everything that is not excluded is selected. */
export function createFilter({ include, exclude }: FilterRules): Filter {
  const [included, excluded] = [include, exclude].map((patterns) => ignore({ ignoreCase: false }).add([...patterns]));
  const excludes = (path: string, isFolder: boolean) => excluded?.ignores(isFolder ? `${path}/` : path) ?? false;
  return {
    excludes,
    selects: (path, isFolder) =>
      !excludes(path, isFolder) && (include.length === 0 || !!included?.ignores(isFolder ? `${path}/` : path)),
  };
}

/**
 * What a filter selects of a tree, and the paths of what it does not.
 *
 * @param spell the path as the rules mean it
 */
export function filterTree<File extends { path: string }, Folder extends { path: string }>(
  filter: Filter,
  tree: { files: readonly File[]; folders: readonly Folder[] },
  spell = (path: string, _isFolder: boolean) => path,
): { files: File[]; folders: Folder[]; others: string[] } {
  const others: string[] = [];
  const pick = (isFolder: boolean) => (entry: { path: string }) => {
    const isSelected = filter.selects(spell(entry.path, isFolder), isFolder);
    if (!isSelected) others.push(entry.path);
    return isSelected;
  };
  return { files: tree.files.filter(pick(false)), folders: tree.folders.filter(pick(true)), others };
}
