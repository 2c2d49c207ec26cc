import { useLayoutEffect, useRef } from 'react';
import { text } from '../../text/text.ts';
import { Thumbnail } from './thumbnail.tsx';
import type { FileEntry } from './use-listing.ts';
import '../../styles/screens/film.css';

/** How many files on either side of the one that is shown can be reached at once. */
const reach = 20;

interface FilmProps {
  files: readonly FileEntry[];
  /** The place of the one that is shown among them; -1 while it is not there. */
  at: number;
  onShow: (id: string) => void;
}

/** The files beside the one that is shown, in small. It is one stop for the Tab key; the arrow keys are the preview's. */
export function Film({ files, at, onShow }: FilmProps) {
  const film = useRef<HTMLDivElement>(null);
  const near = at === -1 ? [] : files.slice(Math.max(0, at - reach), at + reach + 1);
  const shownId = files[at]?.id;
  const firstId = near[0]?.id;
  useLayoutEffect(() => {
    const { current } = film;
    const shown = current?.querySelector<HTMLElement>('[aria-current]');
    if (!current || !shown) return;
    current.scrollLeft = shown.offsetLeft - (current.clientWidth - shown.offsetWidth) / 2;
    if (current.contains(document.activeElement)) shown.focus({ preventScroll: true });
  }, [shownId, firstId]);
  return (
    <div ref={film} className="film" role="toolbar" aria-label={text.preview.beside}>
      {near.map((file) => (
        <button
          key={file.id}
          type="button"
          title={file.name}
          aria-label={file.name}
          aria-current={file.id === shownId ? 'true' : undefined}
          tabIndex={file.id === shownId ? 0 : -1}
          onClick={() => onShow(file.id)}
        >
          <Thumbnail entry={file} />
        </button>
      ))}
    </div>
  );
}
