import type { ListedFile } from '@cadiz/client';
import { type ReactNode, useState } from 'react';
import { thumbnail } from './use-listing.ts';

/** The most bytes that are loaded to show a picture in small, where the service makes no smaller one. */
const largestPicture = 2_000_000;

/** Where the service has a picture in small, or makes it; undefined if it cannot. */
export function toSmall({ id, mimeType, thumbnailUrl, image }: ListedFile): string | undefined {
  if (!mimeType.startsWith('image/') || (image !== null && image.state !== 'ready')) return undefined;
  return thumbnailUrl ?? `/api/storage/files/${id}/image?w=${thumbnail}&h=${thumbnail}&fit=inside`;
}

/** Where a picture in small may be, the best first; nowhere for what is no picture. */
export function toSources(file: ListedFile): readonly string[] {
  const { id, mimeType, fileSize } = file;
  if (!mimeType.startsWith('image/')) return [];
  const small = toSmall(file);
  const isSmall = fileSize <= largestPicture;
  return [
    ...(small === undefined ? [] : [small]),
    ...(isSmall ? [`/api/storage/files/${id}/content?disposition=inline`] : []),
  ];
}

interface PictureProps {
  /** Where it may be, the best first. */
  sources: readonly string[];
  /** What is shown if it is nowhere. */
  none: ReactNode;
}

/** A picture in small, from the first place that has it. */
export function Picture({ sources, none }: PictureProps) {
  const [failed, setFailed] = useState<readonly string[]>([]);
  const src = sources.find((source) => !failed.includes(source));
  if (src === undefined) return none;
  return <img src={src} alt="" loading="lazy" draggable={false} onError={() => setFailed([...failed, src])} />;
}
