import { ChevronRight, Folder, FolderPlus, Search } from 'lucide-react';
import { Fragment, type KeyboardEvent, useEffect, useId, useRef, useState } from 'react';
import { Button } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { Skeleton } from '../../components/parts.tsx';
import { messageOf, ProblemNote, problemOf } from '../../components/problem.tsx';
import { formatCount } from '../../format.ts';
import { text } from '../../text/text.ts';
import { useSettled } from '../../use-settled.ts';
import { useForm } from '../entry/form.ts';
import { toNameKey } from '../uploads/names.ts';
import '../../styles/screens/picker.css';
import { areIn, type Chosen, countExcepted, mayMoveTo, type Target, toReach } from './chosen.ts';
import { createFolder } from './commands.ts';
import { useFolders, useFoundFolders } from './use-folders.ts';

interface MoveDialogProps {
  projectId: string;
  /** Where the picking begins. */
  from: string | null;
  chosen: Chosen;
  onMove: (target: Target) => void;
  onClose: () => void;
}

/** The folder that is shown, and what has the focus once its folders are there: the button where nothing else is left to pick. */
interface Place {
  at: string | null;
  focus: 'field' | 'list' | 'main';
}

/** On a touch screen, a field with the focus brings up the keyboard, which covers the folders. */
const toStart = (at: string | null): Place => ({
  at,
  focus: matchMedia('(pointer: coarse)').matches ? 'list' : 'field',
});

/** Picks the folder that entries are moved to: by walking there from where they are, by its name, or by creating it. */
export function MoveDialog({ projectId, from, chosen, onMove, onClose }: MoveDialogProps) {
  const [place, setPlace] = useState(() => toStart(from));
  const [typed, setTyped] = useState('');
  const [isNaming, setNaming] = useState(false);
  const { at } = place;
  const words = typed.trim();
  const settled = useSettled(words);
  const inPlace = useFolders(projectId, at);
  const found = useFoundFolders(projectId, settled);
  const isSearch = words !== '';
  const read = isSearch && found.data ? found : inPlace;
  const { data, hasNextPage, fetchNextPage, isFetchingNextPage } = read;
  const isSettled = !isSearch || (read === found && settled === words && !found.isPlaceholderData);
  const field = useRef<HTMLInputElement>(null);
  const picker = useRef<HTMLUListElement>(null);
  const creator = useRef<HTMLButtonElement>(null);
  const main = useRef<HTMLButtonElement>(null);
  const { files } = text;

  const toButtons = () => [...(picker.current?.querySelectorAll<HTMLElement>(':scope > li > button:enabled') ?? [])];
  const toFirst = () => toButtons()[0] ?? picker.current;
  // The button that was pressed is gone once the folder is shown. The list keeps the focus until the first folder in it is there: an
  // element that goes away with the focus gives it to the dialog, a frame later.
  function go(folder: string | null, focus: Place['focus'] = 'list') {
    picker.current?.focus();
    setTyped('');
    setNaming(false);
    setPlace({ at: folder, focus });
  }
  useEffect(() => {
    if (inPlace.isPending || place.focus === 'field') return;
    if (place.focus === 'main' && main.current?.disabled === false) main.current.focus();
    else toFirst()?.focus();
  }, [place, inPlace.isPending]);

  const crumbs = inPlace.data?.pages[0]?.breadcrumbs ?? [];
  const target = crumbs.at(-1);
  // Until the folders for these words come, those of the place or of the words before are shown, as far as they fit.
  const fits = ({ name }: { name: string }) => !isSearch || toNameKey(name).includes(toNameKey(words));
  const folders = data?.pages.flatMap((page) => page.folders).filter(fits) ?? [];
  const isMoved = (id: string) => chosen.entries.some((entry) => entry.id === id);
  const isOff = chosen.select ? areIn(chosen, at) : !mayMoveTo(chosen, at);

  /** The arrow keys go through the field and the folders. */
  function onArrow(event: KeyboardEvent<HTMLElement>) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const stops = [field.current, ...toButtons()];
    const next = step && stops[stops.indexOf(event.currentTarget) + step];
    if (!next) return;
    event.preventDefault();
    next.focus();
  }
  function onFieldKey(event: KeyboardEvent<HTMLInputElement>) {
    // These keys are for the input method then.
    if (event.nativeEvent.isComposing) return;
    if (event.key === 'Escape' && typed !== '') {
      event.stopPropagation();
      setTyped('');
    } else if (event.key === 'Enter' && isSearch) toButtons()[0]?.click();
    else onArrow(event);
  }
  function showNaming() {
    setTyped('');
    setNaming(true);
  }
  function hideNaming() {
    setNaming(false);
    creator.current?.focus();
  }

  return (
    <Dialog
      open
      onClose={onClose}
      initialFocus={() => (place.focus === 'field' ? field.current : toFirst())}
      title={files.moveTitle(chosen.count, toReach(chosen), countExcepted(chosen))}
      footer={
        <>
          <Button look="ghost" icon={FolderPlus} ref={creator} className="new-folder" onClick={showNaming}>
            {files.newFolder}
          </Button>
          <Button onClick={onClose}>{text.common.cancel}</Button>
          <Button look="main" ref={main} disabled={!target || isOff} onClick={() => target && onMove(target)}>
            <span className="clip">{files.moveTo(target?.name ?? '…')}</span>
          </Button>
        </>
      }
    >
      <label className="input m">
        <Search className="i s" aria-hidden="true" />
        <input
          ref={field}
          type="search"
          value={typed}
          autoComplete="off"
          spellCheck={false}
          aria-label={files.findFolder}
          placeholder={files.findFolder}
          onChange={({ target }) => setTyped(target.value)}
          onKeyDown={onFieldKey}
        />
      </label>
      {!isSearch && (
        <nav aria-label={files.where}>
          <ol className="crumbs wrap">
            {crumbs.map(({ id, name }, index) => (
              <Fragment key={id ?? 'root'}>
                <li>
                  {index > 0 && <ChevronRight className="i" aria-hidden="true" />}
                  {id === at ? (
                    <b aria-current="location">
                      <bdi>{name}</bdi>
                    </b>
                  ) : (
                    <button type="button" onClick={() => go(id)}>
                      <bdi>{name}</bdi>
                    </button>
                  )}
                  {id === at && areIn(chosen, at) && <span className="tail cap">{files.areHere(chosen.count)}</span>}
                </li>
              </Fragment>
            ))}
          </ol>
        </nav>
      )}
      <ProblemNote error={isSearch ? found.error : inPlace.error} />
      {inPlace.isPending && !data && <Skeleton rows={4} />}
      <ul className="picker" ref={picker} tabIndex={-1}>
        {isNaming && !isSearch && (
          <li>
            <NewFolderForm
              key={at}
              projectId={projectId}
              parent={at}
              onCreated={(id) => go(id, 'main')}
              onCancel={hideNaming}
            />
          </li>
        )}
        {folders.map(({ id, name, path = [] }) => (
          <li key={id}>
            <button
              type="button"
              disabled={isMoved(id) || path.some((above) => isMoved(above.id))}
              onClick={() => go(id, isSearch ? 'main' : 'list')}
              onKeyDown={onArrow}
            >
              <span className="thumb folder">
                <Folder className="i" aria-hidden="true" />
              </span>
              <bdi className="grow clip">{name}</bdi>
              {areIn(chosen, id) ? (
                <span className="tail cap">{files.areHere(chosen.count)}</span>
              ) : (
                <>
                  {path.length > 0 && <bdi className="tail cap clip">{path.map(({ name }) => name).join(' / ')}</bdi>}
                  <ChevronRight className="i s" aria-hidden="true" />
                </>
              )}
            </button>
          </li>
        ))}
        {data && isSettled && folders.length === 0 && !isNaming && (
          <li className="quiet">{isSearch ? files.noFolderFound(words) : files.noFolders}</li>
        )}
      </ul>
      <span className="sr" role="status">
        {isSearch && isSettled && files.found(formatCount(folders.length) + (hasNextPage ? '+' : ''))}
      </span>
      {hasNextPage && isSettled && (
        <Button busy={isFetchingNextPage} onClick={() => fetchNextPage()}>
          {files.moreRows}
        </Button>
      )}
    </Dialog>
  );
}

interface NewFolderFormProps {
  projectId: string;
  parent: string | null;
  onCreated: (id: string) => void;
  onCancel: () => void;
}

/** Names a new folder among those of its place; Enter creates it, Escape does not. */
function NewFolderForm({ projectId, parent, onCreated, onCancel }: NewFolderFormProps) {
  const id = useId();
  const field = useRef<HTMLInputElement>(null);
  const { onSubmit, error, isPending } = useForm(async ({ name = '' }) =>
    onCreated((await createFolder(projectId, name, parent)).id),
  );
  useEffect(() => field.current?.focus(), []);
  return (
    <form className="naming" onSubmit={onSubmit}>
      <span className="thumb folder">
        <Folder className="i" aria-hidden="true" />
      </span>
      <span className={`input m ${error ? 'is-bad' : ''}`}>
        <input
          ref={field}
          name="name"
          required
          readOnly={isPending}
          aria-label={text.files.folderName}
          aria-invalid={error ? true : undefined}
          aria-describedby={error ? id : undefined}
          onKeyDown={(event) => {
            if (event.key !== 'Escape' || event.nativeEvent.isComposing) return;
            event.stopPropagation();
            onCancel();
          }}
        />
      </span>
      <Button type="submit" busy={isPending}>
        {text.common.create}
      </Button>
      {error && (
        <span id={id} className="hint bad" role="alert">
          {problemOf(error, 'name') ?? messageOf(error)}
        </span>
      )}
    </form>
  );
}
