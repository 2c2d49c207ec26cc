import { useQuery } from '@tanstack/react-query';
import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import {
  ArrowDownNarrowWide,
  ArrowDownWideNarrow,
  ChevronDown,
  Download,
  FolderInput,
  FolderPlus,
  LayoutGrid,
  Link,
  List,
  Plus,
  RotateCw,
  Search,
  SearchX,
  Trash2,
  Upload,
  X,
} from 'lucide-react';
import { lazy, type Ref, Suspense, useEffect, useLayoutEffect, useRef, useState } from 'react';
import { Button, IconButton } from '../../components/button.tsx';
import { Menu } from '../../components/menu.tsx';
import { Empty, StillWorking } from '../../components/parts.tsx';
import { messageOf, ProblemNote } from '../../components/problem.tsx';
import { formatBytes, formatCount } from '../../format.ts';
import { onceReachable } from '../../once-reachable.ts';
import { projectsQuery, useRole } from '../../queries.ts';
import { text } from '../../text/text.ts';
import { Failure, NotFound } from '../fallbacks.tsx';
import { openOverlay } from '../shell/overlays.ts';
import { areLettersOn } from '../shell/shortcuts.ts';
import { useTitle } from '../title.ts';
import { UploadButton } from '../uploads/upload-button.tsx';
import { uploadChosen } from '../uploads/upload-chosen.ts';
import { usePaste } from '../uploads/use-paste.ts';
import { Breadcrumbs } from './breadcrumbs.tsx';
import { countExcepted, mayDownload, toShared } from './chosen.ts';
import { FileList, type Sort } from './file-list.tsx';
import { FirstUpload } from './first-upload.tsx';
import { focusList } from './focus-list.ts';
import { isGone, WaysOn } from './gone.tsx';
import { useStaying } from './leaving.ts';
import { Bar, ListSkeleton } from './list-skeleton.tsx';
import { download } from './load-commands.ts';
import type { FilesSearch } from './search.ts';
import { useBars } from './use-bars.ts';
import { useLetterKeys } from './use-letter-keys.ts';
import { type Place, toFolder, useListing } from './use-listing.ts';
import { useQuestions } from './use-questions.tsx';
import { useRenaming } from './use-renaming.ts';
import { type EntrySelection, useSelection } from './use-selection.ts';

const Preview = lazy(onceReachable(async () => ({ default: (await import('./preview.tsx')).Preview })));

const createFolder = () => openOverlay('newFolder');

/** What is in a folder of a project. */
export function Files() {
  const { projectId = '', folderId = null } = useParams({ strict: false });
  const search = useSearch({ strict: false }) as FilesSearch;
  return <Folder key={`${projectId} ${folderId}`} projectId={projectId} folderId={folderId} search={search} />;
}

function Folder(place: Place) {
  const { projectId, folderId, search } = place;
  const listing = useListing(place);
  const { breadcrumbs, error, isPending } = listing;
  const { total, ...staying } = useStaying(listing, listing.total);
  const { entries, gapAt, renaming } = useRenaming(staying, search);
  const { data: projects } = useQuery(projectsQuery);
  const selection = useSelection(staying.entries, place, total);
  const { remove, move, share, dialog } = useQuestions(projectId, folderId, selection.clear);
  const searchField = useRef<HTMLInputElement>(null);
  const navigate = useNavigate();
  const role = useRole(projectId);
  const canChange = role !== 'viewer';
  const projectName = projects?.find(({ id }) => id === projectId)?.name ?? '';
  const crumbs = breadcrumbs.length > 0 ? breadcrumbs : [{ id: null, name: projectName }];
  const title = crumbs.at(-1)?.name ?? '';
  const parent = crumbs.at(-2);
  // In the title of the window, so that windows with files of one folder can be told apart.
  const [previewed, setPreviewed] = useState<string>();
  const heading = useTitle(previewed ?? title);
  usePaste(projectId, folderId, canChange);

  const onSort = (sort: Sort) => {
    const isSame = (search.sort ?? 'name') === sort;
    const order = isSame ? (search.order === 'desc' ? undefined : 'desc') : sort === 'name' ? undefined : 'desc';
    void navigate({
      to: '.',
      search: (before) => ({ ...before, sort: sort === 'name' ? undefined : sort, order }),
      replace: true,
    });
  };
  const setView = (view: FilesSearch['view']) =>
    void navigate({ to: '.', search: (before) => ({ ...before, view }), replace: true });
  const clearSearch = () =>
    void navigate({ to: '.', search: (before) => ({ ...before, q: undefined, scope: undefined }) });
  // What failed stays while it is tried again.
  const [failed, setFailed] = useState(error);
  if (failed !== error && !isPending) setFailed(error);
  const isFailed = failed !== null && listing.total === undefined;
  const hasBars = useBars(isPending && !isFailed);
  const isEmpty = !isPending && entries.length === 0;
  const isSelecting = selection.count !== 0;
  const isBare = isEmpty && !error && !hasBars && search.q === undefined;
  // What had the focus is gone with the last entry.
  useEffect(() => (isEmpty ? focusList() : undefined), [isEmpty]);
  // Or with the button that tried again.
  useEffect(() => (isFailed ? focusList : undefined), [isFailed]);
  useLetterKeys({
    // Where the list has the focus, it takes these keys itself.
    ...(!isEmpty && { ArrowDown: focusList, 'Mod+a': selection.all }),
    '/': () => searchField.current?.focus(),
    v: () => setView(search.view === 'grid' ? undefined : 'grid'),
    ...(isSelecting ? { Escape: selection.clear } : search.q !== undefined && { Escape: clearSearch }),
    ...(canChange && { n: createFolder }),
    ...(parent && { 'Mod+ArrowUp': () => void navigate(toFolder(projectId, parent.id)) }),
  });
  const { files } = text;
  if (isGone(error))
    return <NotFound title={files.folderGone} hint={files.goneHint} ways={<WaysOn projectId={projectId} />} />;
  return (
    <>
      <h1 className="sr" ref={heading} tabIndex={-1}>
        {title}
      </h1>
      <header className="bar">
        <Breadcrumbs projectId={projectId} crumbs={crumbs} />
        <SearchField search={search} ref={searchField} />
        {canChange && (
          <>
            <Button icon={FolderPlus} className="only-wide" onClick={createFolder}>
              {text.files.newFolder}
            </Button>
            <UploadButton projectId={projectId} folderId={folderId} className="only-wide" />
            <AddMenu projectId={projectId} folderId={folderId} />
          </>
        )}
      </header>
      {(isSelecting || !isBare) && (
        <div
          className={`subbar ${isSelecting ? 'sel' : search.q === undefined ? '' : 'searching'}`}
          {...(isSelecting && { role: 'toolbar', 'aria-label': files.selection })}
        >
          {isSelecting && <IconButton icon={X} size="s" label={files.clearSelection} onClick={selection.clear} />}
          {/* One element in both cases: screen readers say what is put into it, not what comes with it. */}
          <span className={`num ${isSelecting ? 'med' : 'grow'}`} role="status">
            {isSelecting && files.selected(selection.count, countExcepted(selection.chosen))}
            {!isSelecting && (hasBars ? <Bar width={5} /> : !isPending && toCount(total, search))}
          </span>
          {isSelecting ? (
            <SelectionButtons
              projectId={projectId}
              total={total}
              selection={selection}
              canChange={canChange}
              onMove={() => move(selection.chosen)}
              onRemove={() => remove(selection.chosen)}
              onShare={() => share(selection.chosen)}
            />
          ) : (
            <>
              {search.q !== undefined && <ScopeSwitch search={search} />}
              <SortMenu search={search} onSort={onSort} />
              <span className="between only-wide" />
              <ViewSwitch shown={search.view} onChange={setView} />
            </>
          )}
        </div>
      )}
      {isFailed && (
        <div className="scroll fallback">
          <Failure
            error={failed}
            title={files.notListable}
            hint={messageOf(failed)}
            retry={
              <Button look="main" icon={RotateCw} busy={isPending} onClick={listing.retry}>
                {text.common.retry}
              </Button>
            }
          />
          {isPending && <StillWorking />}
        </div>
      )}
      {error && !isFailed && (
        <div className="page">
          <ProblemNote error={error} action={<Button onClick={listing.retry}>{text.common.retry}</Button>} />
        </div>
      )}
      {hasBars && !isFailed && <ListSkeleton search={search} />}
      {isEmpty && !error && !hasBars && search.q !== undefined && (
        <Empty icon={SearchX} title={text.files.nothingFound(search.q)} hint={text.files.nothingFoundHint} />
      )}
      {isBare && <FirstUpload projectId={projectId} folderId={folderId} canUpload={canChange} />}
      {entries.length > 0 && !hasBars && (
        <FileList
          projectId={projectId}
          entries={entries}
          gapAt={gapAt}
          total={total}
          search={search}
          selection={selection}
          renaming={renaming}
          canChange={canChange}
          onMove={move}
          onRemove={remove}
          onShare={share}
          onMore={listing.loadMore}
          onSort={onSort}
        />
      )}
      {dialog}
      {search.file !== undefined && (
        <Suspense>
          <Preview
            projectId={projectId}
            entries={entries}
            gapAt={gapAt}
            total={total}
            onMore={listing.loadMore}
            fileId={search.file}
            onNamed={setPreviewed}
          />
        </Suspense>
      )}
    </>
  );
}

function toCount(total: number | null | undefined, { q }: FilesSearch): string {
  // Nothing could be read.
  if (total === undefined) return '';
  if (total === null) return text.files.veryMany;
  return q === undefined ? text.common.items(total) : text.files.found(formatCount(total));
}

/** Searches while somebody types, after a moment; the words are kept in the URL. */
function SearchField({ search: { q }, ref }: { search: FilesSearch; ref: Ref<HTMLInputElement> }) {
  const navigate = useNavigate();
  const [{ words, sent, seen }, setState] = useState({ words: q ?? '', sent: q, seen: q });
  // If the URL has other words, such as by going back, the field takes them; its own it does not: typing may be ahead of those.
  if (seen !== q) setState({ words: q === sent ? words : (q ?? ''), sent: q, seen: q });
  useEffect(() => {
    const wanted = words === '' ? undefined : words;
    if (wanted === q) return;
    const timer = setTimeout(() => {
      setState({ words, sent: wanted, seen: q });
      void navigate({
        to: '.',
        search: (before) => ({ ...before, q: wanted, ...(wanted === undefined && { scope: undefined }) }),
        replace: q !== undefined,
      });
    }, 250);
    return () => clearTimeout(timer);
  }, [words, q, navigate]);
  return (
    <label className="input m soft search-field">
      <Search className="i s" aria-hidden="true" />
      <input
        ref={ref}
        type="search"
        value={words}
        aria-label={text.files.search}
        placeholder={text.files.search}
        onChange={({ target }) => setState({ words: target.value, sent, seen })}
      />
      {words === '' && areLettersOn.read() && (
        <span className="kbd only-wide" aria-hidden="true">
          /
        </span>
      )}
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

/** What can be put into a folder, where a phone has room for one button. */
function AddMenu({ projectId, folderId }: Pick<Place, 'projectId' | 'folderId'>) {
  const { files, uploads } = text;
  return (
    <Menu
      trigger={<IconButton icon={Plus} className="only-phone" label={files.add} />}
      actions={[
        { label: uploads.chooseFiles, icon: Upload, run: () => uploadChosen(projectId, folderId) },
        { label: files.newFolder, icon: FolderPlus, run: createFolder },
      ]}
    />
  );
}

/** The order, also of tiles and of the rows of phones, which have no heads to press. */
function SortMenu({ search, onSort }: { search: FilesSearch; onSort: (sort: Sort) => void }) {
  const { name, size, added, sortedBy } = text.files;
  const shown = search.sort ?? 'name';
  const labels: Record<Sort, string> = { name, fileSize: size, createdAt: added };
  const sorts: readonly Sort[] = ['name', 'fileSize', 'createdAt'];
  return (
    <Menu
      trigger={
        <Button
          look="ghost"
          size="s"
          icon={search.order === 'desc' ? ArrowDownWideNarrow : ArrowDownNarrowWide}
          aria-label={sortedBy(labels[shown])}
        >
          {labels[shown]}
          <ChevronDown className="i s" aria-hidden="true" />
        </Button>
      }
      actions={sorts.map((sort) => ({ label: labels[sort], isOn: sort === shown, run: () => onSort(sort) }))}
    />
  );
}

interface ViewSwitchProps {
  shown: FilesSearch['view'];
  onChange: (view: FilesSearch['view']) => void;
}

function ViewSwitch({ shown, onChange }: ViewSwitchProps) {
  const { list, grid } = text.files;
  const views = [
    { view: undefined, label: list, Icon: List },
    { view: 'grid', label: grid, Icon: LayoutGrid },
  ] as const;
  return (
    <div className="segs">
      {views.map(({ view, label, Icon }) => (
        <button
          key={label}
          type="button"
          className="icon"
          title={label}
          aria-label={label}
          aria-pressed={shown === view}
          onClick={() => onChange(view)}
        >
          <Icon className="i" aria-hidden="true" />
        </button>
      ))}
    </div>
  );
}

interface SelectionButtonsProps {
  projectId: string;
  total: number | null | undefined;
  selection: EntrySelection;
  canChange: boolean;
  onMove: () => void;
  onRemove: () => void;
  onShare: () => void;
}

/** What can be done with what is chosen, in the line above the list; on phones, it is below the list. */
function SelectionButtons({
  projectId,
  total,
  selection,
  canChange,
  onMove,
  onRemove,
  onShare,
}: SelectionButtonsProps) {
  const { files } = text;
  const { chosen, isEverything, everything } = selection;
  const shared = toShared(chosen).length;
  // The sizes of folders are not known.
  const isKnown = !isEverything && chosen.entries.every(({ kind }) => kind === 'file');
  const bytes = chosen.entries.reduce((sum, entry) => sum + (entry.kind === 'file' ? entry.item.fileSize : 0), 0);
  // The button that was pressed may be gone with the bar, or by itself.
  useLayoutEffect(() => {
    focusList();
    return () => void requestAnimationFrame(focusList);
  }, [isEverything]);
  return (
    <>
      {isKnown && <span className="num second">{formatBytes(bytes)}</span>}
      <span className="grow">
        {everything && (
          <button
            type="button"
            className="linklike clip"
            aria-label={files.selectAll(total, selection.reach)}
            onClick={everything}
          >
            <span className="only-wide">{files.selectAll(total, selection.reach)}</span>
            <span className="only-phone">{files.all(total)}</span>
          </button>
        )}
      </span>
      {mayDownload(chosen) && (
        <Button
          look="ghost"
          size="s"
          icon={Download}
          className="only-wide"
          onClick={() => download(projectId, chosen.entries)}
        >
          {files.download}
        </Button>
      )}
      {canChange && (
        <>
          <Button look="ghost" size="s" icon={FolderInput} className="only-wide" onClick={onMove}>
            {files.move}
          </Button>
          {shared > 0 && (
            <Button look="ghost" size="s" icon={Link} className="only-wide" onClick={onShare}>
              {shared === 1 ? files.copyLink : files.copyLinks}
            </Button>
          )}
          <span className="between only-wide" />
          <Button look="ghost" size="s" icon={Trash2} className="bad only-wide" onClick={onRemove}>
            {text.common.delete}
          </Button>
        </>
      )}
    </>
  );
}
