import { useQuery } from '@tanstack/react-query';
import { FileQuestionMark } from 'lucide-react';
import { useState } from 'react';
import { clientOf } from '../../api.ts';
import { Empty } from '../../components/parts.tsx';
import { ProblemNote } from '../../components/problem.tsx';
import { text } from '../../text/text.ts';
import { ImageStage } from './image-stage.tsx';
import { MediaStage } from './media-stage.tsx';
import { PdfStage } from './pdf-stage.tsx';
import { TextStage } from './text-stage.tsx';
import type { FileEntry } from './use-listing.ts';

const textTypes =
  /^(?:text\/|[^;]*[/+](?:json[5l]?|(?:x-)?(?:ndjson|yaml|javascript|sh)|xml|toml|typescript|sql|graphql)(?:;|$))/i;
const textNames =
  /\.(?:txt|md|markdown|log|csv|tsv|json|jsonl|ndjson|geojson|xml|ya?ml|toml|ini|conf|env|sql|sh|bat|ps1|css|[cm]?[jt]sx?|py|rb|go|rs|java|c|h|cpp|php)$/i;

/** Whether a file is text: by its type, or else by its name, since browsers do not know every kind. */
const isText = (mimeType: string, fileName: string): boolean =>
  textTypes.test(mimeType) || (mimeType === 'application/octet-stream' && textNames.test(fileName));

interface StageProps {
  projectId: string;
  file: FileEntry['item'];
}

/** A browser keeps all of a document in memory. In bytes. */
const largestPdf = 100_000_000;

/** Whether it is a document that this browser shows. */
const isPdf = (mimeType: string, fileSize: number): boolean =>
  mimeType === 'application/pdf' && navigator.pdfViewerEnabled && fileSize <= largestPdf;

/** What a file shows. It never runs: a picture cannot, other bytes are drawn as text, and documents by the browser's viewer. */
export function Stage({ projectId, file }: StageProps) {
  const [isUnplayable, setUnplayable] = useState(false);
  const {
    data: address,
    error,
    refetch,
  } = useQuery({
    queryKey: ['address', file.id],
    queryFn: () => clientOf(projectId).files.url(file.id, { disposition: 'inline' }),
    staleTime: 600_000,
    // Another URL would begin anew what is being played or read.
    refetchOnWindowFocus: false,
    refetchOnReconnect: false,
  });
  const { mimeType, fileName, fileSize } = file;
  if (error) return <ProblemNote error={error} />;
  if (!address) return null;
  const { url } = address;
  if (mimeType.startsWith('image/')) return <ImageStage projectId={projectId} file={file} url={url} />;
  if (isUnplayable) return <Empty icon={FileQuestionMark} title={text.preview.unshown} hint={mimeType} />;
  const kind = (['audio', 'video'] as const).find((one) => mimeType.startsWith(`${one}/`));
  if (kind)
    return <MediaStage kind={kind} address={address} onExpired={refetch} onUnplayable={() => setUnplayable(true)} />;
  if (isPdf(mimeType, fileSize)) return <PdfStage url={url} name={fileName} />;
  if (isText(mimeType, fileName)) return <TextStage url={url} name={fileName} type={mimeType} size={fileSize} />;
  return <Empty icon={FileQuestionMark} title={text.preview.none} hint={mimeType} />;
}
