import uPlot from 'uplot';
import { formatBytes, formatCount } from '../../format.ts';
import { text } from '../../text/text.ts';
import type { Colours } from './colours.ts';
import { type Day, type Figures, formatUtcDay } from './days.ts';

/** One of the plots that lie above each other, on the same days. */
export interface Plot {
  title: string;
  height: number;
  /** The first row counts the days, from 0. */
  data: uPlot.AlignedData;
  format: (value: number) => string;
  series: (colours: Colours) => uPlot.Series[];
  bands?: (colours: Colours) => uPlot.Band[];
}

/** A limit is drawn once this share of it is used: before, what is stored would be a flat line below it. */
const shareWithLimit = 0.1;

/** Whether the limit is drawn. @param limit in bytes */
export function isLimitShown(days: readonly Day[], limit: number | null): limit is number {
  const most = Math.max(...days.map(({ figures }) => (figures ? figures.bytes + figures.trashedBytes : 0)));
  return limit !== null && most >= limit * shareWithLimit;
}

/** Everything that is counted by day: what is stored, with the trash on top, and the files; what was uploaded. */
export function toPlots(days: readonly Day[], limit: number | null): Plot[] {
  const { usage } = text;
  const row = (of: (figures: Figures) => number) => days.map(({ figures }) => (figures ? of(figures) : null));
  const indexes = days.map((_, index) => index);
  const limits = isLimitShown(days, limit) ? [days.map(() => limit)] : [];
  const bars = (title: string, values: (number | null)[], format: (value: number) => string): Plot => ({
    title,
    height: 88,
    data: [indexes, values],
    format,
    series: ({ bars }) => [{ fill: bars, points: { show: false }, ...(drawBars && { paths: drawBars }) }],
  });
  return [
    {
      title: usage.stored,
      height: 260,
      data: [indexes, row(({ bytes, trashedBytes }) => bytes + trashedBytes), row(({ bytes }) => bytes), ...limits],
      format: formatBytes,
      series: ({ trash, stored, storedFill, limit }) => [
        { stroke: trash, width: 1, points: { show: false } },
        { stroke: stored, fill: storedFill, width: 2, points: { show: false } },
        ...limits.map(() => ({ stroke: limit, width: 1.5, dash: [4, 4], points: { show: false } })),
      ],
      bands: ({ trash }) => [{ series: [1, 2], fill: () => toHatch(trash) }],
    },
    {
      title: usage.files,
      height: 88,
      data: [indexes, row(({ files }) => files)],
      format: formatCount,
      series: ({ stored, storedFill }) => [{ stroke: stored, fill: storedFill, width: 1.5, points: { show: false } }],
    },
    bars(
      usage.uploads,
      row(({ uploads }) => uploads),
      formatCount,
    ),
    bars(
      usage.added,
      row(({ addedBytes }) => addedBytes),
      formatBytes,
    ),
  ];
}

const drawBars = uPlot.paths.bars?.({ size: [0.7, 28] });

/** Stripes, so that the second series differs by more than its colour. */
function toHatch(colour: string): CanvasPattern | string {
  const size = 6 * devicePixelRatio;
  const tile = document.createElement('canvas');
  tile.width = size;
  tile.height = size;
  const context = tile.getContext('2d');
  if (!context) return colour;
  context.strokeStyle = colour;
  context.lineWidth = devicePixelRatio;
  for (const shift of [-size, 0, size]) {
    context.moveTo(shift, size);
    context.lineTo(shift + size, 0);
  }
  context.stroke();
  return context.createPattern(tile, 'repeat') ?? colour;
}

/** 1, 2, 5, 10 … : neither bytes nor files come in parts. */
const steps = Array.from({ length: 16 }, (_, power) => [1, 2, 5].map((step) => step * 10 ** power)).flat();

const dayWidth = 76;

/**
 * How a plot is drawn.
 * @param onAt told the index of the day under the pointer
 */
export function toOptions(
  plot: Plot,
  days: readonly Day[],
  colours: Colours,
  width: number,
  isLast: boolean,
  onAt: (index: number | undefined) => void,
): uPlot.Options {
  // Letters are larger where somebody has set their browser to that.
  const scale = Number.parseFloat(getComputedStyle(document.documentElement).fontSize) / 16;
  const font = `${11 * scale}px "Geist Variable", sans-serif`;
  const line = { stroke: colours.grid, width: 1 };
  return {
    width,
    height: (plot.height + (isLast ? 24 : 0)) * scale,
    padding: [8, 20, isLast ? 0 : 4, 0],
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, points: { size: 8 } },
    scales: {
      x: { time: false, range: () => [-0.5, days.length - 0.5] },
      y: { range: (_, __, most) => [0, (most || 1) * 1.06] },
    },
    axes: [
      {
        show: isLast,
        size: 24 * scale,
        font,
        stroke: colours.text,
        grid: { show: false },
        ticks: { show: false },
        splits: ({ width }) => toShownDays(days.length, Math.floor(width / (dayWidth * scale))),
        values: (_, indexes) => indexes.map((index) => formatUtcDay(days[index]?.day ?? '')),
      },
      {
        size: 60 * scale,
        font,
        stroke: colours.text,
        grid: line,
        ticks: { show: false },
        space: 28 * scale,
        incrs: steps,
        values: (_, values) => values.map(plot.format),
      },
    ],
    series: [{}, ...plot.series(colours)],
    ...(plot.bands && { bands: plot.bands(colours) }),
    hooks: { setCursor: [({ cursor }) => onAt(cursor.idx ?? undefined)] },
  };
}

/** The days that are named below the plots: this many at most, evenly spaced, today among them. */
function toShownDays(count: number, most: number): number[] {
  const step = Math.ceil(count / Math.max(1, most));
  return Array.from({ length: count }, (_, index) => index).filter((index) => (count - 1 - index) % step === 0);
}
