import { type RefObject, useLayoutEffect, useMemo, useState } from 'react';
import { phone } from '../shell/use-is-phone.ts';
import type { LineSize } from './lines.ts';

/** As in the styles, so that nothing has to be measured, in rem: what is beside all of them; the narrowest tile, the gap beside it, and what is below its picture. */
const margin = 1.25;
const tile = { width: 10.75, gap: 1, below: 4.25 };
/** The narrowest card of a folder, the gaps beside and above it, and its height. */
const card = { width: 14.375, gap: 0.75, height: 2.75 };
const headHeight = 2;

/** The width and the height of rows, which is that of the tokens, in rem; and how many pixels that is. */
function readSizes(element: HTMLElement | null) {
  const style = getComputedStyle(document.documentElement);
  const rem = Number.parseFloat(style.fontSize);
  return {
    rem,
    width: (element?.clientWidth ?? 0) / rem,
    rowHeight: Number.parseFloat(style.getPropertyValue('--row')),
    isPhone: phone.matches,
  };
}

/** How many fit beside each other, at least two. */
const toColumns = (inner: number, { width, gap }: { width: number; gap: number }) =>
  Math.max(2, Math.floor((inner + gap) / (width + gap)));

/** How files and folders stand in lines, and whether there is room for names only. */
export function useGridSizes(scroller: RefObject<HTMLElement | null>, isGrid: boolean) {
  const [{ rem, width, rowHeight, isPhone }, setSizes] = useState(() => readSizes(null));
  useLayoutEffect(() => {
    const element = scroller.current;
    if (!element) return;
    const observer = new ResizeObserver(() => setSizes(readSizes(element)));
    observer.observe(element);
    setSizes(readSizes(element));
    return () => observer.disconnect();
  }, [scroller]);
  const rows = useMemo(() => ({ columns: 1, height: rowHeight * rem }), [rowHeight, rem]);
  const grid = useMemo(() => toGrid(width, rem), [width, rem]);
  if (!isGrid) return { files: rows, folders: rows, headHeight: isPhone ? 0 : headHeight * rem, isPhone };
  return { ...grid, headHeight: 0, isPhone };
}

/** @param width of the list, in rem */
function toGrid(width: number, rem: number): { files: LineSize; folders: LineSize } {
  const inner = Math.max(tile.width, width - 2 * margin);
  const columns = toColumns(inner, tile);
  const each = (inner - (columns - 1) * tile.gap) / columns;
  return {
    files: { columns, height: Math.round((each * 0.75 + tile.below) * rem) },
    folders: { columns: toColumns(inner, card), height: Math.round((card.height + card.gap) * rem) },
  };
}
