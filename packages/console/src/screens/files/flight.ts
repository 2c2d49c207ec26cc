import { type RefObject, startTransition, useEffect, useLayoutEffect, useState } from 'react';

/** Tells rows whether the list is scrolled so fast that only their words are of use. */
export interface Flight {
  isOn(): boolean;
  /** Calls back when the flight is over, at once if there is none. Returns a function that ends that. */
  onEnd(listener: () => void): () => void;
}

/** A step of more lines than this is a flight. */
const fastLines = 4;
/** How long after the last such step the flight is over, in milliseconds. */
const restMilliseconds = 100;

/**
 * Whether a list is scrolled faster than anybody can use it, such as by dragging the bar of a long one.
 *
 * @param height of a line, in pixels
 */
export function useFlight(scroller: RefObject<HTMLElement | null>, height: number): Flight {
  const [flight] = useState(createFlight);
  // Before what draws the rows of the new place listens: the first listener is told first.
  useLayoutEffect(() => {
    const list = scroller.current;
    if (!list) return;
    let before = list.scrollTop;
    const onScroll = () => {
      const moved = Math.abs(list.scrollTop - before);
      before = list.scrollTop;
      if (moved > fastLines * height) flight.goOn();
    };
    list.addEventListener('scroll', onScroll, { passive: true });
    return () => list.removeEventListener('scroll', onScroll);
  }, [scroller, flight, height]);
  return flight;
}

/** Whether to draw all of a row, which then stays drawn. */
export function useWhole(flight: Flight): boolean {
  const [isWhole, setWhole] = useState(() => !flight.isOn());
  useEffect(() => (isWhole ? undefined : flight.onEnd(() => setWhole(true))), [isWhole, flight]);
  return isWhole;
}

function createFlight(): Flight & { goOn: () => void } {
  const listeners = new Set<() => void>();
  let end: ReturnType<typeof setTimeout> | undefined;
  const land = () => {
    end = undefined;
    startTransition(() => {
      for (const listener of listeners) listener();
    });
  };
  return {
    isOn: () => end !== undefined,
    onEnd(listener) {
      // It may be over since it was asked about.
      if (end === undefined) listener();
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    goOn() {
      clearTimeout(end);
      end = setTimeout(land, restMilliseconds);
    },
  };
}
