import type { Loaded } from './use-listing.ts';

/** How many entries stand in a line, and how high it is, in pixels. */
export interface LineSize {
  columns: number;
  height: number;
}

/** How entries stand in lines, folders in their own before files. */
export interface Lines {
  /** How many lines there are. */
  count: number;
  /** How many of them have folders. */
  ofFolders: number;
  /** The line in place of what has not been loaded, if there are entries after it. */
  gap: number | undefined;
  /** The line that the entry at an index stands in. */
  of(index: number): number;
  /** The index of the first entry of a line, and that after its last. The line of the gap has none. */
  range(line: number): readonly [from: number, to: number];
  sizeOf(line: number): LineSize;
  /** How far below the first line one begins, in pixels. */
  topOf(line: number): number;
  /** The line that is so many pixels below the beginning of the first. */
  at(offset: number): number;
}

/** Lines of one size: the entries from one index to before another. */
interface Block extends LineSize {
  from: number;
  to: number;
  isFolders: boolean;
  /** Its first line, and the one after its last. */
  line: number;
  end: number;
  top: number;
}

/** What is taken off by rounding: lines may have fractions of a pixel. */
const rounding = 1e-6;

export function toLines({ entries, gapAt }: Loaded, files: LineSize, folders: LineSize): Lines {
  const blocks: Block[] = [];
  let line = 0;
  let top = 0;
  function add(from: number, to: number, size: LineSize, isFolders: boolean, lines: number) {
    if (lines > 0) blocks.push({ from, to, ...size, isFolders, line, end: line + lines, top });
    line += lines;
    top += lines * size.height;
  }
  function addEntries(from: number, to: number) {
    let firstFile = from;
    while (firstFile < to && entries[firstFile]?.kind === 'folder') firstFile++;
    add(from, firstFile, folders, true, Math.ceil((firstFile - from) / folders.columns));
    add(firstFile, to, files, false, Math.ceil((to - firstFile) / files.columns));
  }
  const { length } = entries;
  const hasGap = gapAt !== undefined && gapAt < length;
  addEntries(0, hasGap ? gapAt : length);
  const gap = hasGap ? line : undefined;
  if (hasGap) {
    add(gapAt, gapAt, files, false, 1);
    addEntries(gapAt, length);
  }
  const none: Block = { from: 0, to: 0, ...files, isFolders: false, line: 0, end: 0, top: 0 };
  const blockOf = (is: (block: Block) => boolean) => blocks.find(is) ?? blocks.at(-1) ?? none;
  const byLine = (line: number) => blockOf(({ end }) => line < end);
  return {
    count: line,
    ofFolders: blocks.reduce((sum, { isFolders, line, end }) => sum + (isFolders ? end - line : 0), 0),
    gap,
    of(index) {
      const block = blockOf(({ to }) => index < to);
      return block.line + Math.floor((index - block.from) / block.columns);
    },
    range(line) {
      const block = byLine(line);
      const from = block.from + (line - block.line) * block.columns;
      return [Math.min(from, block.to), Math.min(from + block.columns, block.to)];
    },
    sizeOf: byLine,
    topOf(line) {
      const block = byLine(line);
      return block.top + (line - block.line) * block.height;
    },
    at(offset) {
      const block = blockOf(({ top, line, end, height }) => offset < top + (end - line) * height - rounding);
      const line = block.line + Math.floor((offset - block.top) / block.height + rounding);
      return Math.max(block.line, Math.min(line, block.end - 1));
    },
  };
}
