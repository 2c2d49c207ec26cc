import { useQuery } from '@tanstack/react-query';
import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { Download, FolderPlus, Search, SearchX, Trash2, X } from 'lucide-react';
import { useCallback, useDeferredValue, useEffect, useState } from 'react';
import { Button, IconButton } from '../../components/button.tsx';
import { Empty, Skeleton } from '../../components/parts.tsx';
import { ProblemNote } from '../../components/problem.tsx';
import { formatBytes, formatCount } from '../../format.ts';
import { projectsQuery, useRole } from '../../queries.ts';
import type { FilesSearch } from '../../router.tsx';
import { text } from '../../text/text.ts';
import { useTitle } from '../title.ts';
import { UploadButton } from '../uploads/upload-button.tsx';
import { Breadcrumbs } from './breadcrumbs.tsx';
import { deleteEntries, download } from './commands.ts';
import { FileList } from './file-list.tsx';
import { FirstUpload } from './first-upload.tsx';
import { NewFolder } from './new-folder.tsx';
import { Preview } from './preview.tsx';
import { type Entry, type Place, useListing } from './use-listing.ts';
import { type Selection, useSelection } from './use-selection.ts';

/** What is in a folder of a project. */
export function Files() {
  const { projectId = '', folderId = null } = useParams({ strict: false });
  const search = useSearch({ strict: false }) as FilesSearch;
  return <Folder key={`${projectId} ${folderId}`} projectId={projectId} folderId={folderId} search={search} />;
}

function Folder(place: Place) {
  const { projectId, folderId, search } = place;
  const listing = useListing(place);
  const { entries, breadcrumbs, total, error, isPending, fetchNextPage, hasNextPage, isFetchingNextPage } = listing;
  const { data: projects } = useQuery(projectsQuery);
  const selection = useSelection(entries, `${search.q} ${search.scope}`);
  const [isNaming, setNaming] = useState(false);
  const navigate = useNavigate();
  const role = useRole(projectId);
  const canChange = role !== 'viewer';
  const projectName = projects?.find(({ id }) => id === projectId)?.name ?? '';
  const crumbs = breadcrumbs.length > 0 ? breadcrumbs : [{ id: null, name: projectName }];
  const title = crumbs.at(-1)?.name ?? '';
  const heading = useTitle(title);

  const onEnd = useCallback(() => {
    if (hasNextPage && !isFetchingNextPage) void fetchNextPage();
  }, [fetchNextPage, hasNextPage, isFetchingNextPage]);
  const onSort = (sort: 'name' | 'createdAt' | 'fileSize') => {
    const isSame = (search.sort ?? 'name') === sort;
    const order = isSame ? (search.order === 'desc' ? undefined : 'desc') : sort === 'name' ? undefined : 'desc';
    void navigate({
      to: '.',
      search: (before) => ({ ...before, sort: sort === 'name' ? undefined : sort, order }),
      replace: true,
    });
  };
  const isEmpty = !isPending && entries.length === 0;
  return (
    <>
      <h1 className="sr" ref={heading} tabIndex={-1}>
        {title}
      </h1>
      <header className="bar">
        <Breadcrumbs projectId={projectId} crumbs={crumbs} />
        <SearchField search={search} />
        {canChange && (
          <>
            <Button icon={FolderPlus} className="only-wide" onClick={() => setNaming(true)}>
              {text.files.newFolder}
            </Button>
            <UploadButton projectId={projectId} folderId={folderId} />
          </>
        )}
      </header>
      {selection.ids.size > 0 ? (
        <SelectionBar projectId={projectId} entries={entries} selection={selection} canDelete={canChange} />
      ) : (
        <div className="subbar">
          <span className="num grow" aria-live="polite">
            {isPending ? '' : toCount(total, search)}
          </span>
          {search.q !== undefined && <ScopeSwitch search={search} />}
        </div>
      )}
      {error && (
        <div className="page">
          <ProblemNote error={error} action={<Button onClick={() => listing.refetch()}>{text.common.retry}</Button>} />
        </div>
      )}
      {isPending && !error && <Skeleton rows={12} />}
      {isEmpty && !error && search.q !== undefined && (
        <Empty icon={SearchX} title={text.files.nothingFound(search.q)} hint={text.files.nothingFoundHint} />
      )}
      {isEmpty && !error && search.q === undefined && (
        <FirstUpload projectId={projectId} folderId={folderId} canUpload={canChange} />
      )}
      {entries.length > 0 && (
        <FileList
          projectId={projectId}
          entries={entries}
          total={total}
          search={search}
          selection={selection}
          canChange={canChange}
          canDelete={canChange}
          onEnd={onEnd}
          onSort={onSort}
        />
      )}
      <NewFolder open={isNaming} projectId={projectId} parentId={folderId} onClose={() => setNaming(false)} />
      {search.file !== undefined && <Preview projectId={projectId} entries={entries} fileId={search.file} />}
    </>
  );
}

function toCount(total: number | null | undefined, { q }: FilesSearch): string {
  if (total === null || total === undefined) return text.files.veryMany;
  return q === undefined ? text.common.items(total) : text.files.found(formatCount(total));
}

/** Searches as one types; what is searched for stands in the address. */
function SearchField({ search }: { search: FilesSearch }) {
  const [words, setWords] = useState(search.q ?? '');
  const settled = useDeferredValue(words);
  const navigate = useNavigate();
  useEffect(() => {
    const timer = setTimeout(() => {
      const q = settled === '' ? undefined : settled;
      if (q !== search.q)
        void navigate({
          to: '.',
          search: (before) => ({ ...before, q, ...(q === undefined && { scope: undefined }) }),
          replace: search.q !== undefined,
        });
    }, 250);
    return () => clearTimeout(timer);
  }, [settled, search.q, navigate]);
  return (
    <label className="input m soft search-field">
      <Search className="i s" aria-hidden="true" />
      <input
        type="search"
        value={words}
        aria-label={text.files.search}
        placeholder={text.files.search}
        onChange={({ target }) => setWords(target.value)}
      />
    </label>
  );
}

function ScopeSwitch({ search }: { search: FilesSearch }) {
  const navigate = useNavigate();
  const go = (scope: 'project' | undefined) => void navigate({ to: '.', search: (before) => ({ ...before, scope }) });
  return (
    <div className="segs">
      <button type="button" aria-pressed={search.scope === undefined} onClick={() => go(undefined)}>
        {text.files.thisFolder}
      </button>
      <button type="button" aria-pressed={search.scope === 'project'} onClick={() => go('project')}>
        {text.files.wholeProject}
      </button>
    </div>
  );
}

interface SelectionBarProps {
  projectId: string;
  entries: readonly Entry[];
  selection: Selection;
  canDelete: boolean;
}

/** Takes the place of the line above the list while something is chosen. */
function SelectionBar({ projectId, entries, selection, canDelete }: SelectionBarProps) {
  const chosen = entries.filter(({ id }) => selection.ids.has(id));
  const bytes = chosen.reduce((sum, entry) => sum + (entry.kind === 'file' ? entry.item.fileSize : 0), 0);
  return (
    <div className="subbar sel" role="toolbar" aria-label={text.files.selection}>
      <IconButton icon={X} size="s" label={text.files.clearSelection} onClick={selection.clear} />
      <b className="num">{text.files.selected(chosen.length)}</b>
      <span className="num second grow">{formatBytes(bytes)}</span>
      <Button look="ghost" size="s" icon={Download} onClick={() => download(projectId, chosen)}>
        {text.files.download}
      </Button>
      {canDelete && (
        <Button
          look="ghost"
          size="s"
          icon={Trash2}
          className="bad"
          onClick={() => {
            selection.clear();
            void deleteEntries(projectId, chosen);
          }}
        >
          {text.common.delete}
        </Button>
      )}
    </div>
  );
}
