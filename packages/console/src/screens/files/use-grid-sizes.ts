import { type RefObject, useLayoutEffect, useState } from 'react';
import { phone } from '../shell/use-is-phone.ts';

/** As in the styles, so that nothing has to be measured, in rem: the narrowest tile, the gap beside, and what is around it. */
const tile = { width: 10.75, gap: 1, margin: 1.25, below: 4.25 };
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

/** How many entries stand beside each other, how high a line of them is, in pixels, and whether there is room for names only. */
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
  if (!isGrid) return { columns: 1, height: rowHeight * rem, headHeight: isPhone ? 0 : headHeight * rem, isPhone };
  const inner = Math.max(tile.width, width - 2 * tile.margin);
  const columns = Math.max(2, Math.floor((inner + tile.gap) / (tile.width + tile.gap)));
  const each = (inner - (columns - 1) * tile.gap) / columns;
  return { columns, height: Math.round((each * 0.75 + tile.below) * rem), headHeight: 0, isPhone };
}
