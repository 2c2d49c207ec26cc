import { useQuery } from '@tanstack/react-query';
import { ImageOff } from 'lucide-react';
import { useState } from 'react';
import { clientOf } from '../../api.ts';
import { Button } from '../../components/button.tsx';
import { Empty } from '../../components/parts.tsx';
import { formatBytes } from '../../format.ts';
import { text } from '../../text/text.ts';
import type { FileEntry } from './use-listing.ts';

/** From this many bytes on, a picture that is shown smaller is also transferred smaller. */
const largeBytes = 1_000_000;

/** What browsers show by themselves. */
const shown = /^image\/(?:jpeg|png|gif|webp|avif|svg\+xml|bmp|x-icon|vnd\.microsoft\.icon)$/;

/** The side of the square that fills the screen, in pixels: one of a few, so that few variants are made. */
function toSide(): number {
  const needed = Math.max(screen.width, screen.height) * devicePixelRatio;
  return [1024, 2048, 4096].find((side) => side >= needed) ?? 4096;
}

/** Whether a variant is shown in place of a picture. No variant moves, so pictures that do are shown themselves. */
function needsVariant({ mimeType, fileSize, image }: FileEntry['item'], side: number): boolean {
  if (image?.state !== 'ready' || (image.frames ?? 1) > 1) return false;
  const isLarge = fileSize > largeBytes || (image.width ?? 0) > side || (image.height ?? 0) > side;
  return isLarge || !shown.test(mimeType);
}

interface ImageStageProps {
  projectId: string;
  file: FileEntry['item'];
  /** Where the picture itself is. */
  url: string;
}

/** A picture as large as the screen. The picture itself is one click away, and takes its place if there is no other. */
export function ImageStage({ projectId, file, url }: ImageStageProps) {
  const [side] = useState(toSide);
  const needsOther = needsVariant(file, side);
  // What browsers show stays; of what they do not, a picture may still be made.
  const [isAsked, setAsked] = useState(!needsOther && shown.test(file.mimeType));
  const [isBroken, setBroken] = useState(false);
  const isOriginal = isAsked || !needsOther;
  const variant = useQuery({
    queryKey: ['image', file.id, side],
    queryFn: () => clientOf(projectId).files.image(file.id, { w: side, h: side, fit: 'inside' }),
    enabled: !isOriginal,
    staleTime: 600_000,
  });
  const { fileName, fileSize, mimeType } = file;
  if (isBroken && isOriginal) return <Empty icon={ImageOff} title={text.preview.unshown} hint={mimeType} />;
  if (isOriginal || variant.isError) return <img src={url} alt={fileName} onError={() => setBroken(true)} />;
  if (!variant.data) return null;
  return (
    <>
      <img src={variant.data.url} alt={fileName} onError={() => setAsked(true)} />
      <Button className="original" size="s" onClick={() => setAsked(true)}>
        {text.preview.showOriginal(formatBytes(fileSize))}
      </Button>
    </>
  );
}
