import { type RefObject, useLayoutEffect, useState } from 'react';

/** As in the styles, so that nothing has to be measured: the narrowest tile, the gap beside, and what is around it. */
const tile = { width: 172, gap: 16, margin: 20, below: 68 };
const headHeight = 32;
const phone = 720;

/** The height of rows is that of the tokens. */
function readSizes(element: HTMLElement | null) {
  const style = getComputedStyle(document.documentElement);
  return {
    width: element?.clientWidth ?? 0,
    rowHeight: Number.parseFloat(style.getPropertyValue('--row')) * Number.parseFloat(style.fontSize),
    isPhone: window.innerWidth <= phone,
  };
}

/** How many entries stand beside each other, how high a line of them is, in pixels, and whether there is room for names only. */
export function useGridSizes(scroller: RefObject<HTMLElement | null>, isGrid: boolean) {
  const [{ width, rowHeight, isPhone }, setSizes] = useState(() => readSizes(null));
  useLayoutEffect(() => {
    const element = scroller.current;
    if (!element) return;
    const observer = new ResizeObserver(() => setSizes(readSizes(element)));
    observer.observe(element);
    setSizes(readSizes(element));
    return () => observer.disconnect();
  }, [scroller]);
  if (!isGrid) return { columns: 1, height: rowHeight, headHeight: isPhone ? 0 : headHeight, isPhone };
  const inner = Math.max(tile.width, width - 2 * tile.margin);
  const columns = Math.max(2, Math.floor((inner + tile.gap) / (tile.width + tile.gap)));
  const each = (inner - (columns - 1) * tile.gap) / columns;
  return { columns, height: Math.round(each * 0.75) + tile.below, headHeight: 0, isPhone };
}
