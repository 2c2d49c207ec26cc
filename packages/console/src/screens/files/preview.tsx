import { Dialog } from '@base-ui/react/dialog';
import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { ChevronLeft, ChevronRight, Download, type LucideIcon, X } from 'lucide-react';
import { type KeyboardEvent, useEffect, useRef, useState } from 'react';
import { clientOf } from '../../api.ts';
import { Button, IconButton } from '../../components/button.tsx';
import { ProblemNote } from '../../components/problem.tsx';
import { text } from '../../text/text.ts';
import { download } from './commands.ts';
import { Details } from './details.tsx';
import { Links } from './links.tsx';
import { Stage } from './stage.tsx';
import type { Entry, FileEntry } from './use-listing.ts';

interface PreviewProps {
  projectId: string;
  /** What the list has loaded: the others can be reached from here. */
  entries: readonly Entry[];
  /** Whether the list has more. */
  hasMore: boolean;
  /** Loads more of the list. */
  onEnd: () => void;
  fileId: string;
}

/** How many entries are looked through for a file that an address names, so that those beside it can be reached. */
const farthest = 2000;

/** One file, over everything else: what it shows, and all that is known of it. */
export function Preview({ projectId, entries, hasMore, onEnd, fileId }: PreviewProps) {
  const navigate = useNavigate();
  const frame = useRef<HTMLDivElement>(null);
  const files = entries.filter((entry): entry is FileEntry => entry.kind === 'file');
  const at = files.findIndex(({ id }) => id === fileId);
  const query = useQuery({
    queryKey: ['file', fileId],
    queryFn: () => clientOf(projectId).files.get(fileId),
    initialData: files[at]?.item,
  });
  const go = (file: string | undefined) =>
    void navigate({ to: '.', search: (before) => ({ ...before, file }), replace: true });
  const previous = files[at - 1];
  const next = at >= 0 ? files[at + 1] : undefined;
  // The next file may still have to be loaded: whoever asks for it goes there once it is.
  const [isAwaited, setAwaited] = useState(false);
  const needsMore = at === -1 ? entries.length < farthest : at >= files.length - 2;
  useEffect(() => {
    if (hasMore && needsMore) onEnd();
  }, [hasMore, needsMore, onEnd]);
  useEffect(() => {
    if (isAwaited && next) goOn();
  });
  const goBack = () => previous && go(previous.id);
  function goOn() {
    setAwaited(!next && hasMore);
    if (next) go(next.id);
  }
  function onKeyDown({ target, key, currentTarget }: KeyboardEvent) {
    // A dialog that this one has opened has its own keys.
    if (!(target instanceof Element && currentTarget.contains(target)) || target.closest('input, select, video, audio'))
      return;
    if (key === 'ArrowLeft') goBack();
    if (key === 'ArrowRight') goOn();
  }
  const { preview } = text;
  const file = query.data;
  return (
    <Dialog.Root open onOpenChange={(isOpen) => !isOpen && go(undefined)}>
      <Dialog.Portal>
        <Dialog.Popup
          ref={frame}
          initialFocus={frame}
          className="view"
          aria-label={file?.fileName ?? preview.title}
          onKeyDown={onKeyDown}
        >
          <header>
            <b className="clip grow">
              <bdi>{file?.fileName}</bdi>
            </b>
            {file && <DownloadButton projectId={projectId} file={file} />}
            <Dialog.Close render={<IconButton icon={X} label={text.common.close} />} />
          </header>
          <div className="stage">
            <div className="canvas">
              <ProblemNote
                error={query.error}
                action={<Button onClick={() => query.refetch()}>{text.common.retry}</Button>}
              />
              {file && <Stage key={fileId} projectId={projectId} file={file} />}
            </div>
            <Step look="prev" icon={ChevronLeft} label={preview.previous} isOff={!previous} onStep={goBack} />
            <Step
              look="next"
              icon={ChevronRight}
              label={preview.next}
              isOff={at === -1 || (!next && !hasMore)}
              onStep={goOn}
            />
          </div>
          <aside className="details" aria-label={preview.details}>
            {file && <Details key={fileId} projectId={projectId} file={file} />}
            {file && <Links key={`${fileId} links`} projectId={projectId} fileId={fileId} />}
          </aside>
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

interface StepProps {
  look: 'prev' | 'next';
  icon: LucideIcon;
  label: string;
  isOff: boolean;
  onStep: () => void;
}

/** Leads to the file beside this one. It stays where there is none, so that it keeps the focus. */
const Step = ({ look, icon: Icon, label, isOff, onStep }: StepProps) => (
  <button type="button" className={`go ${look}`} aria-label={label} aria-disabled={isOff} onClick={onStep}>
    <Icon className="i" aria-hidden="true" />
  </button>
);

function DownloadButton({ projectId, file }: { projectId: string; file: FileEntry['item'] }) {
  const entry: FileEntry = { kind: 'file', id: file.id, name: file.fileName, item: file };
  return <IconButton icon={Download} label={text.files.download} onClick={() => download(projectId, [entry])} />;
}
