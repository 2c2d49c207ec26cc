import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { ChevronLeft, ChevronRight, Download, FileQuestionMark, X } from 'lucide-react';
import { useEffect, useRef } from 'react';
import { clientOf } from '../../api.ts';
import { Button, IconButton } from '../../components/button.tsx';
import { CopyButton } from '../../components/copy-button.tsx';
import { Badge, Empty, Moment } from '../../components/parts.tsx';
import { ProblemNote } from '../../components/problem.tsx';
import { formatBytes, formatCount } from '../../format.ts';
import { text } from '../../text/text.ts';
import { download } from './commands.ts';
import { Links } from './links.tsx';
import type { Entry, FileEntry } from './use-listing.ts';

interface PreviewProps {
  projectId: string;
  /** What the list has loaded: the others can be reached from here. */
  entries: readonly Entry[];
  fileId: string;
}

/** One file, over everything else: what it shows, and all that is known of it. */
export function Preview({ projectId, entries, fileId }: PreviewProps) {
  const navigate = useNavigate();
  const frame = useRef<HTMLDialogElement>(null);
  const files = entries.filter((entry): entry is FileEntry => entry.kind === 'file');
  const at = files.findIndex(({ id }) => id === fileId);
  const query = useQuery({
    queryKey: ['file', fileId],
    queryFn: () => clientOf(projectId).files.get(fileId),
    initialData: files[at]?.item,
  });
  const go = (file: string | undefined) =>
    void navigate({ to: '.', search: (before) => ({ ...before, file }), replace: true });
  const close = () => go(undefined);
  const previous = files[at - 1];
  const next = at >= 0 ? files[at + 1] : undefined;
  useEffect(() => {
    frame.current?.showModal();
  }, []);
  const { preview } = text;
  return (
    <dialog
      ref={frame}
      className="view"
      aria-label={query.data?.fileName ?? preview.title}
      onCancel={(event) => {
        event.preventDefault();
        close();
      }}
      onKeyDown={(event) => {
        if (event.target instanceof HTMLInputElement || event.target instanceof HTMLMediaElement) return;
        if (event.key === 'ArrowLeft' && previous) go(previous.id);
        if (event.key === 'ArrowRight' && next) go(next.id);
      }}
    >
      <header>
        <b className="clip grow">
          <bdi>{query.data?.fileName}</bdi>
        </b>
        {query.data && <DownloadButton projectId={projectId} file={query.data} />}
        <IconButton icon={X} label={text.common.close} onClick={close} />
      </header>
      <div className="stage">
        <div className="canvas">
          <ProblemNote
            error={query.error}
            action={<Button onClick={() => query.refetch()}>{text.common.retry}</Button>}
          />
          {query.data && <Stage key={fileId} projectId={projectId} file={query.data} />}
        </div>
        {previous && (
          <button type="button" className="go prev" aria-label={preview.previous} onClick={() => go(previous.id)}>
            <ChevronLeft className="i" aria-hidden="true" />
          </button>
        )}
        {next && (
          <button type="button" className="go next" aria-label={preview.next} onClick={() => go(next.id)}>
            <ChevronRight className="i" aria-hidden="true" />
          </button>
        )}
      </div>
      <aside className="details" aria-label={preview.details}>
        {query.data && <Facts file={query.data} />}
        {query.data && <Links projectId={projectId} fileId={fileId} />}
      </aside>
    </dialog>
  );
}

type Shown = FileEntry['item'];

function DownloadButton({ projectId, file }: { projectId: string; file: Shown }) {
  const entry: FileEntry = { kind: 'file', id: file.id, name: file.fileName, item: file };
  return <IconButton icon={Download} label={text.files.download} onClick={() => download(projectId, [entry])} />;
}

const largestText = 256 * 1024;

/** Never runs what it shows: a picture cannot, other bytes are drawn as text, and PDFs are of another origin. */
function Stage({ projectId, file }: { projectId: string; file: Shown }) {
  const { data: address, error } = useQuery({
    queryKey: ['address', file.id],
    queryFn: () => clientOf(projectId).files.url(file.id, { disposition: 'inline' }),
    staleTime: 600_000,
  });
  const { mimeType, fileName } = file;
  if (error) return <ProblemNote error={error} />;
  if (!address) return null;
  const { url } = address;
  if (mimeType.startsWith('image/')) return <img src={url} alt={fileName} />;
  // biome-ignore lint/a11y/useMediaCaption: the files are what people have uploaded
  if (mimeType.startsWith('video/')) return <video src={url} controls />;
  // biome-ignore lint/a11y/useMediaCaption: the files are what people have uploaded
  if (mimeType.startsWith('audio/')) return <audio src={url} controls />;
  if (mimeType === 'application/pdf') return <iframe src={url} title={fileName} />;
  if (/^text\/|json|xml|javascript/.test(mimeType)) return <TextStage url={url} size={file.fileSize} />;
  return <Empty icon={FileQuestionMark} title={text.preview.none} hint={mimeType} />;
}

function TextStage({ url, size }: { url: string; size: number }) {
  const { data, error } = useQuery({
    queryKey: ['text', url],
    queryFn: async () => {
      const answer = await fetch(url, size > largestText ? { headers: { Range: `bytes=0-${largestText - 1}` } } : {});
      if (!answer.ok) throw new Error(text.preview.unreadable(answer.status));
      // A store may send it all.
      return (await answer.text()).slice(0, largestText);
    },
  });
  if (error) return <ProblemNote error={error} />;
  return (
    <div className="text-stage">
      <pre>{data}</pre>
      {size > largestText && <p className="cap quiet">{text.preview.cut(formatBytes(largestText))}</p>}
    </div>
  );
}

function Facts({ file }: { file: Shown }) {
  const { preview } = text;
  const metadata = Object.entries(file.metadata);
  return (
    <section>
      <h3>{preview.details}</h3>
      <dl className="facts">
        <Fact label={text.files.size}>
          {formatBytes(file.fileSize)} · {preview.bytes(formatCount(file.fileSize))}
        </Fact>
        <Fact label={text.files.type}>
          <span className="mono">{file.mimeType}</span>{' '}
          {file.contentCheck === 'mismatch' && file.detectedMimeType && (
            <Badge tone="warn">{preview.looksLike(file.detectedMimeType)}</Badge>
          )}
        </Fact>
        <Fact label={text.files.added}>
          <Moment at={file.createdAt} />
        </Fact>
        {file.externalId !== null && <Fact label="externalId">{file.externalId}</Fact>}
        <Fact label="id" isCode>
          {file.id}
        </Fact>
        <Fact label="storeKey" isCode>
          {file.storeKey}
        </Fact>
        {file.sha256 !== null && (
          <Fact label="SHA-256" isCode>
            {file.sha256}
          </Fact>
        )}
        {metadata.map(([name, value]) => (
          <Fact key={name} label={name}>
            {String(value)}
          </Fact>
        ))}
      </dl>
    </section>
  );
}

function Fact({ label, isCode, children }: { label: string; isCode?: boolean; children: React.ReactNode }) {
  return (
    <div>
      <dt className="cap quiet">{label}</dt>
      <dd className={isCode ? 'mono' : ''}>
        {children} {isCode && <CopyButton value={String(children)} />}
      </dd>
    </div>
  );
}
