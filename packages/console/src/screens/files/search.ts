/** What the address of a listing says besides the folder. */
export interface FilesSearch {
  sort?: 'createdAt' | 'fileSize' | undefined;
  order?: 'desc' | undefined;
  view?: 'grid' | undefined;
  q?: string | undefined;
  /** Where is searched: in the folder, or in the whole project. */
  scope?: 'project' | undefined;
  /** The file whose preview is open. */
  file?: string | undefined;
}

/** Whatever is not understood is undefined: a key that is merely left out would keep what it was given. */
export function toFilesSearch({ sort, order, view, q, scope, file }: Record<string, unknown>): FilesSearch {
  const words = typeof q === 'number' ? String(q) : q;
  return {
    sort: sort === 'createdAt' || sort === 'fileSize' ? sort : undefined,
    order: order === 'desc' ? order : undefined,
    view: view === 'grid' ? view : undefined,
    q: typeof words === 'string' && words !== '' ? words : undefined,
    scope: scope === 'project' ? scope : undefined,
    file: typeof file === 'string' ? file : undefined,
  };
}
