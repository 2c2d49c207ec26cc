import { type RefObject, useLayoutEffect, useState } from 'react';

/** As in the styles, so that nothing has to be measured: the narrowest tile, the gap beside, and what is around it. */
const tile = { width: 172, gap: 16, margin: 20, below: 68 };
const headHeight = 32;
const phone = 720;

/** As in the tokens. */
function readRowHeight(): number {
  const style = getComputedStyle(document.documentElement);
  return Number.parseFloat(style.getPropertyValue('--row')) * Number.parseFloat(style.fontSize);
}

/** How many entries stand beside each other, and how high a line of them is, in pixels. */
export function useGridSizes(scroller: RefObject<HTMLElement | null>, isGrid: boolean) {
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const element = scroller.current;
    if (!element) return;
    const observer = new ResizeObserver(() => setWidth(element.clientWidth));
    observer.observe(element);
    setWidth(element.clientWidth);
    return () => observer.disconnect();
  }, [scroller]);
  const isPhone = window.innerWidth <= phone;
  if (!isGrid) return { columns: 1, height: readRowHeight(), headHeight: isPhone ? 0 : headHeight };
  const inner = Math.max(tile.width, width - 2 * tile.margin);
  const columns = Math.max(2, Math.floor((inner + tile.gap) / (tile.width + tile.gap)));
  const each = (inner - (columns - 1) * tile.gap) / columns;
  return { columns, height: Math.round(each * 0.75) + tile.below, headHeight: 0 };
}
