import { type KeyboardEvent, useEffect, useMemo, useRef } from 'react';
import uPlot from 'uplot';
import { text } from '../../text/text.ts';
import { type Colours, useColours } from './colours.ts';
import { type Day, formatUtcDay } from './days.ts';
import { toFacts } from './facts.ts';
import { isLimitShown, type Plot, toOptions, toPlots } from './plots.ts';

interface ChartProps {
  days: readonly Day[];
  /** Of the project, in bytes; null without one. */
  limit: number | null;
  /** The index of the day that is looked at. */
  at: number | undefined;
  onAt: (index: number | undefined) => void;
}

/** The days as plots above each other. The pointer and the arrow keys go from day to day, and a note has its figures. */
export function Chart({ days, limit, at, onAt }: ChartProps) {
  const colours = useColours();
  const plots = useMemo(() => toPlots(days, limit), [days, limit]);
  const last = days.length - 1;
  const shown = days[at ?? last];
  function onKeyDown(event: KeyboardEvent) {
    const from = at ?? last;
    const page = 7;
    const targets: Record<string, number | undefined> = {
      ArrowLeft: from - 1,
      ArrowDown: from - 1,
      ArrowRight: from + 1,
      ArrowUp: from + 1,
      PageDown: from - page,
      PageUp: from + page,
      Home: 0,
      End: last,
    };
    const target = targets[event.key];
    if (event.key === 'Escape') onAt(undefined);
    if (target === undefined) return;
    event.preventDefault();
    onAt(Math.max(0, Math.min(last, target)));
  }
  return (
    <div className="stack g3">
      <Legend hasLimit={isLimitShown(days, limit)} />
      <div
        className="chart"
        role="slider"
        tabIndex={0}
        aria-label={text.usage.byDay}
        aria-valuemin={0}
        aria-valuemax={last}
        aria-valuenow={at ?? last}
        aria-valuetext={
          shown && [formatUtcDay(shown.day, true), ...toFacts(shown).map((fact) => fact.join(' '))].join(', ')
        }
        onKeyDown={onKeyDown}
        onFocus={({ currentTarget }) => currentTarget.matches(':focus-visible') && onAt(at ?? last)}
        onBlur={() => onAt(undefined)}
      >
        {plots.map((plot, index) => (
          <PlotView
            key={plot.title}
            plot={plot}
            days={days}
            colours={colours}
            isLast={index === plots.length - 1}
            at={at}
            onAt={onAt}
          />
        ))}
        {at !== undefined && shown && <Tip day={shown} share={(at + 0.5) / days.length} />}
      </div>
    </div>
  );
}

const Legend = ({ hasLimit }: { hasLimit: boolean }) => (
  <div className="legend">
    <span>
      <i />
      {text.usage.stored}
    </span>
    <span>
      <i className="two" />
      {text.usage.inTrash}
    </span>
    {hasLimit && (
      <span>
        <i className="lim" />
        {text.usage.limit}
      </span>
    )}
  </div>
);

interface PlotViewProps {
  plot: Plot;
  days: readonly Day[];
  colours: Colours;
  isLast: boolean;
  at: number | undefined;
  onAt: (index: number | undefined) => void;
}

function PlotView({ plot, days, colours, isLast, at, onAt }: PlotViewProps) {
  const place = useRef<HTMLDivElement>(null);
  const drawn = useRef<uPlot>(null);
  useEffect(() => {
    const element = place.current;
    if (!element) return undefined;
    const options = toOptions(plot, days, colours, element.clientWidth, isLast, onAt);
    const made = new uPlot(options, plot.data, element);
    const observer = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height: options.height }));
    observer.observe(element);
    drawn.current = made;
    return () => {
      observer.disconnect();
      made.destroy();
    };
  }, [plot, days, colours, isLast, onAt]);
  // The line at the day that another plot, the keys or the table point at.
  useEffect(() => {
    const left = at === undefined ? -10 : drawn.current?.valToPos(at, 'x');
    if (left !== undefined) drawn.current?.setCursor({ left, top: at === undefined ? -10 : 0 }, false);
  }, [at, plot, days, colours, isLast, onAt]);
  return (
    <div>
      <div className="cap second">{plot.title}</div>
      <div className="plot" ref={place} />
    </div>
  );
}

/** The figures of a day, on the side of it that has room. @param share where the day is, from 0 to 1 */
function Tip({ day, share }: { day: Day; share: number }) {
  const side =
    share < 0.5
      ? { left: `calc(72px + ${share} * (100% - 80px))` }
      : { right: `calc(32px + ${1 - share} * (100% - 80px))` };
  return (
    <div className="tip num" style={side}>
      <b>{formatUtcDay(day.day, true)}</b>
      {toFacts(day).map(([label, value]) => (
        <div key={label}>
          <span>{label}</span>
          <span>{value}</span>
        </div>
      ))}
    </div>
  );
}
