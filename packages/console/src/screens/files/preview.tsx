import { Dialog } from '@base-ui/react/dialog';
import { useQuery } from '@tanstack/react-query';
import { useLocation, useNavigate, useRouter } from '@tanstack/react-router';
import { ChevronLeft, ChevronRight, type LucideIcon, MapPinOff } from 'lucide-react';
import { type KeyboardEvent, useEffect, useRef, useState } from 'react';
import { clientOf } from '../../api.ts';
import { Button } from '../../components/button.tsx';
import { Empty } from '../../components/parts.tsx';
import { ProblemNote } from '../../components/problem.tsx';
import { keep, readKept } from '../../keep.ts';
import { text } from '../../text/text.ts';
import { undoLatest } from '../../undo.ts';
import { keyOf } from '../shell/key-of.ts';
import { openOverlay } from '../shell/overlays.ts';
import { areLettersOn } from '../shell/shortcuts.ts';
import { phone } from '../shell/use-is-phone.ts';
import { toChosen } from './chosen.ts';
import { Details } from './details.tsx';
import { Film } from './film.tsx';
import { focusList } from './focus-list.ts';
import { isGone, WaysOn } from './gone.tsx';
import { Links } from './links.tsx';
import { PreviewBar } from './preview-bar.tsx';
import type { FilesSearch } from './search.ts';
import { Stage } from './stage.tsx';
import type { FileEntry, Loaded, Side } from './use-listing.ts';
import { useQuestions } from './use-questions.tsx';

/** `entries` is what the list has loaded: the others can be reached from here. */
interface PreviewProps extends Loaded {
  projectId: string;
  /** How many entries the list has in all; null for more than are counted. */
  total: number | null | undefined;
  /** Loads more of the list. */
  onMore: (side: Side) => void;
  fileId: string;
  /** Called with the name of the file once it is known, and with nothing when the preview closes. */
  onNamed: (name: string | undefined) => void;
}

/** To the file before or after this one. */
type Step = 1 | -1;

/** How many entries are looked through for a file that an address names, so that those beside it can be reached. */
const farthest = 2000;

/** Under which name a browser keeps that details are hidden. */
const detailsKept = 'cadiz.details';

/** One file, over everything else: what it shows, and all that is known of it. */
export function Preview(props: PreviewProps) {
  const { projectId, entries, gapAt, onMore, fileId, onNamed } = props;
  const navigate = useNavigate();
  const frame = useRef<HTMLDivElement>(null);
  const details = useRef<HTMLElement>(null);
  const { isAtDetails } = useLocation().state;
  const [hasDetails, setDetails] = useState(isAtDetails || readKept(detailsKept) !== 'off');
  function toggleDetails() {
    // The focus would be gone with them.
    if (details.current?.contains(document.activeElement)) frame.current?.focus();
    setDetails(!hasDetails);
    keep(detailsKept, hasDetails ? 'off' : undefined);
  }
  const side: Side = entries.findIndex(({ id }) => id === fileId) < (gapAt ?? entries.length) ? 'start' : 'end';
  const files = (side === 'start' ? entries.slice(0, gapAt) : entries.slice(gapAt)).filter(
    (entry): entry is FileEntry => entry.kind === 'file',
  );
  const at = files.findIndex(({ id }) => id === fileId);
  const query = useQuery({
    queryKey: ['file', fileId],
    queryFn: () => clientOf(projectId).files.get(fileId),
    initialData: files[at]?.item,
    // When it is opened again, it may have another name, which the list knows.
    gcTime: 0,
  });
  const show = (file: string | undefined) => {
    const search = (before: FilesSearch) => ({ ...before, file });
    // Nothing is scrolled, so that the film goes on from where it is.
    void navigate({ to: '.', search, state: true, replace: true, resetScroll: false });
  };
  const close = useClose(() => show(undefined));
  /** The way to what has not been loaded. */
  const unread: Step = side === 'start' ? 1 : -1;
  const hasMore = gapAt !== undefined;
  const left = unread === 1 ? files.length - 1 - at : at;
  const needsMore = at === -1 ? entries.length < farthest : left < 2;
  useEffect(() => {
    if (hasMore && needsMore) onMore(side);
  });
  const toNeighbour = (step: Step) => (at === -1 ? undefined : files[at + step]);
  const mayGo = (step: Step) => toNeighbour(step) !== undefined || (at !== -1 && hasMore && step === unread);
  // A step to a file that still has to be loaded is made once it is.
  const [awaited, setAwaited] = useState<Step>();
  function go(step: Step) {
    const to = toNeighbour(step);
    setAwaited(!to && mayGo(step) ? step : undefined);
    if (to) show(to.id);
  }
  useEffect(() => {
    if (awaited !== undefined && toNeighbour(awaited)) go(awaited);
  });
  /** Goes to the next file, or else to the one before, once this one is no longer among them. */
  function leave() {
    const to = toNeighbour(1) ?? toNeighbour(-1);
    if (to) show(to.id);
    else close();
  }
  function onKeyDown(event: KeyboardEvent) {
    const { target, currentTarget, altKey, ctrlKey, metaKey } = event;
    const key = keyOf(event);
    // A dialog that this one has opened has its own keys.
    if (!(target instanceof Element && currentTarget.contains(target)) || target.closest('input, select, video, audio'))
      return;
    if ((ctrlKey || metaKey) && !altKey && key === 'z') {
      event.preventDefault();
      undoLatest();
    }
    // With these, arrows belong to the browser, such as to go back.
    if (altKey || ctrlKey || metaKey) return;
    if (key === 'ArrowLeft') go(-1);
    if (key === 'ArrowRight') go(1);
    // Phones have them below what is shown.
    if (key === 'i' && areLettersOn.read() && !phone.matches) toggleDetails();
    if (key === '?' && areLettersOn.read()) openOverlay('shortcuts');
  }
  const { preview } = text;
  // The id may be that of a file of another project, which is missing here.
  const isMissing = isGone(query.error) || (query.data !== undefined && query.data.projectId !== projectId);
  const file = isMissing ? undefined : query.data;
  const name = file?.fileName;
  const entry: FileEntry | undefined = file && { kind: 'file', id: file.id, name: file.fileName, item: file };
  const { remove, move, dialog } = useQuestions(projectId, file?.folderId ?? null, leave);
  useEffect(() => {
    onNamed(name);
    return () => onNamed(undefined);
  }, [name, onNamed]);
  return (
    <Dialog.Root open onOpenChange={(isOpen) => !isOpen && close()}>
      <Dialog.Portal>
        <Dialog.Popup
          ref={frame}
          initialFocus={isAtDetails ? details : frame}
          className={`view ${hasDetails ? '' : 'is-whole'}`}
          aria-label={name ?? preview.title}
          onKeyDown={onKeyDown}
        >
          <PreviewBar
            projectId={projectId}
            file={entry}
            position={toPosition(props, files, at, side)}
            onMove={(one) => move(toChosen([one]))}
            onRemove={(one) => remove(toChosen([one]))}
            hasDetails={hasDetails}
            onToggleDetails={toggleDetails}
          />
          <div className="stage">
            <div className="canvas">
              {isMissing && (
                <Empty
                  icon={MapPinOff}
                  title={preview.gone}
                  hint={text.files.goneHint}
                  action={<WaysOn projectId={projectId} />}
                />
              )}
              <ProblemNote
                error={isMissing ? undefined : query.error}
                action={<Button onClick={() => query.refetch()}>{text.common.retry}</Button>}
              />
              {file && <Stage key={fileId} projectId={projectId} file={file} />}
            </div>
            <StepButton
              look="prev"
              icon={ChevronLeft}
              label={preview.previous}
              isOff={!mayGo(-1)}
              onStep={() => go(-1)}
            />
            <StepButton look="next" icon={ChevronRight} label={preview.next} isOff={!mayGo(1)} onStep={() => go(1)} />
            {(at === -1 || files.length > 1) && <Film files={files} at={at} onShow={show} />}
          </div>
          <aside ref={details} tabIndex={-1} className="details" aria-label={preview.details}>
            {file && <Links key={`${fileId} links`} projectId={projectId} fileId={fileId} />}
            {file && <Details key={fileId} projectId={projectId} file={file} />}
          </aside>
          {dialog}
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

/** Closes a preview, once: by going back to the list that it was opened from, so that Back then leads out of that; otherwise by `leave`. */
function useClose(leave: () => void): () => void {
  const router = useRouter();
  const isClosed = useRef(false);
  // What it was opened from may be gone.
  useEffect(() => () => void (isClosed.current && requestAnimationFrame(focusList)), []);
  return () => {
    if (isClosed.current) return;
    isClosed.current = true;
    if (router.state.location.state.isOverList) router.history.back();
    else leave();
  };
}

interface StepButtonProps {
  look: 'prev' | 'next';
  icon: LucideIcon;
  label: string;
  isOff: boolean;
  onStep: () => void;
}

/** Leads to the file beside this one. It stays where there is none, so that it keeps the focus. */
const StepButton = ({ look, icon: Icon, label, isOff, onStep }: StepButtonProps) => (
  <button type="button" className={`go ${look}`} aria-label={label} aria-disabled={isOff} onClick={onStep}>
    <Icon className="i" aria-hidden="true" />
  </button>
);

/** Where a file stands among all the files of a list, as far as that is known. @param at its place among those that are loaded */
function toPosition({ entries, gapAt, total }: PreviewProps, files: readonly FileEntry[], at: number, side: Side) {
  const start = entries.slice(0, gapAt);
  // Folders come first: where a file has been reached, there are no more of them.
  if (at === -1 || start.at(-1)?.kind !== 'file') return undefined;
  const ofFiles =
    gapAt === undefined ? files.length : total && total - start.filter(({ kind }) => kind === 'folder').length;
  if (!ofFiles) return undefined;
  return { nth: (side === 'start' ? 1 : ofFiles - files.length + 1) + at, total: ofFiles };
}
