import { count, toDuration, toSize } from './format.ts';
import type { Output } from './output.ts';
import { printable } from './output.ts';

/** How far a transfer is. */
export interface Standing {
  files: { done: number; total: number };
  bytes: { done: number; total: number };
  /** Files under way, the first of which are shown. */
  current: readonly { name: string; done: number; total: number }[];
}

export interface Progress {
  /** Words that come in between; the bars stay below them. */
  interject(say: () => void): void;
  /** Shows the end, and takes the bars away. */
  stop(): void;
}

const frameMilliseconds = 100;
/** How often a plain line is written without a terminal. */
const lineMilliseconds = 5_000;
const shownFiles = 3;

/** Shows how far a transfer is, as bars on a terminal, otherwise as a line now and then. */
export function showProgress(output: Output, verb: string, look: () => Standing): Progress {
  const speed = createSpeed();
  let shown = 0;
  const erase = () => {
    if (shown > 0) output.draw(`\u001b[${shown}A\u001b[J`);
    shown = 0;
  };
  const frame = () => {
    const standing = look();
    const rate = speed(standing.bytes.done, performance.now());
    if (!output.isTerminal) return output.say(toLine(verb, standing, rate));
    const lines = toBars(verb, standing, rate, output.columns());
    erase();
    output.draw(`${lines.join('\n')}\n`);
    shown = lines.length;
  };
  const timer = setInterval(frame, output.isTerminal ? frameMilliseconds : lineMilliseconds);
  return {
    interject(say) {
      erase();
      say();
    },
    stop() {
      clearInterval(timer);
      erase();
    },
  };
}

/** Bytes per second over the last ten seconds or so; undefined until there is something to tell. */
export function createSpeed(): (bytes: number, now: number) => number | undefined {
  const seen: { bytes: number; at: number }[] = [];
  return (bytes, now) => {
    seen.push({ bytes, at: now });
    while ((seen[1]?.at ?? now) < now - 10_000) seen.shift();
    const [first] = seen;
    const seconds = (now - (first?.at ?? now)) / 1000;
    return seconds >= 1 ? Math.max(0, bytes - (first?.bytes ?? 0)) / seconds : undefined;
  };
}

/** Three files, all of them, and how fast: lines that are no wider than the terminal. */
export function toBars(
  verb: string,
  { files, bytes, current }: Standing,
  rate: number | undefined,
  columns: number,
): string[] {
  const width = Math.max(10, Math.min(30, Math.floor(columns / 4)));
  const row = ({ name, done, total }: Standing['current'][number]) =>
    fit(`  ${toBar(total === 0 ? 1 : done / total, width)} ${toPercent(done, total)}  ${printable(name)}`, columns);
  const all = { name: `${verb}: ${files.done} of ${count(files.total, 'file')}`, ...bytes };
  const amounts = fit(`  ${' '.repeat(width)}       ${toAmounts(bytes, rate)}`, columns);
  // The largest take longest: they stay in their places while small ones come and go.
  const largest = current.toSorted((a, b) => b.total - a.total).slice(0, shownFiles);
  return [...largest.map(row), row(all), amounts];
}

export const toLine = (verb: string, { files, bytes }: Standing, rate: number | undefined): string =>
  `${verb}: ${files.done} of ${count(files.total, 'file')}, ${toAmounts(bytes, rate)}`;

/** A longer estimate says nothing, so none is shown. */
const longestGuessSeconds = 100 * 3600;

function toAmounts({ done, total }: Standing['bytes'], rate: number | undefined): string {
  const amounts = [`${toSize(done)} of ${toSize(total)}`];
  if (rate !== undefined) amounts.push(`${toSize(rate)}/s`);
  const left = rate ? (total - done) / rate : Number.POSITIVE_INFINITY;
  if (left < longestGuessSeconds) amounts.push(`${toDuration(left)} left`);
  return amounts.join(', ');
}

const eighths = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];

function toBar(fraction: number, width: number): string {
  const parts = Math.floor(Math.min(1, fraction) * width * 8);
  const full = '█'.repeat(Math.floor(parts / 8)) + eighths[parts % 8];
  return full + '░'.repeat(width - Math.ceil(parts / 8));
}

/** Never 100 before the end. */
const toPercent = (done: number, total: number): string =>
  `${total === 0 ? 100 : Math.floor((100 * Math.min(done, total)) / total)}%`.padStart(4);

const segments = new Intl.Segmenter();
/** Scripts and pictures that take two columns on a terminal (Unicode TR 11, roughly). */
const wide =
  /[\p{Emoji_Presentation}\p{Script=Han}\p{Script=Hangul}\p{Script=Hiragana}\p{Script=Katakana}\uff01-\uff60]/u;

/** Cuts a line off where the terminal ends: a line that wraps would stay when the bars are drawn anew. */
function fit(line: string, columns: number): string {
  let fitting = '';
  let width = 0;
  for (const { segment } of segments.segment(line)) {
    width += wide.test(segment) ? 2 : 1;
    if (width >= columns) return `${fitting}…`;
    fitting += segment;
  }
  return fitting;
}
