import { S3Error } from './s3-error.ts';

/** Reads a stream as its consumer asks for it, wherever the chunks of the network happen to end. Holds about one of them. */
export interface ByteReader {
  /** The next line, without its crlf; undefined when it is longer than so many bytes. */
  line(maxBytes: number): Promise<string | undefined>;
  /** The next bytes: at least one, at most so many. */
  some(maxBytes: number): Promise<Buffer>;
  /** The bytes up to a delimiter, which is read over. */
  until(delimiter: Buffer): AsyncGenerator<Buffer, void, undefined>;
  isAtEnd(): Promise<boolean>;
  /** To be called in any case: lets the stream go, without destroying it. */
  close(): Promise<void>;
}

const crlf = Buffer.from('\r\n');
const nothing = Buffer.alloc(0);

/** All methods throw S3Error IncompleteBody when the stream ends before what they look for. */
export function openByteReader(source: AsyncIterable<Buffer>): ByteReader {
  const chunks = source[Symbol.asyncIterator]();
  let held: Buffer = nothing;

  async function readOn(): Promise<boolean> {
    const { done, value } = await chunks.next();
    if (done) return false;
    held = held.length === 0 ? value : Buffer.concat([held, value]);
    return true;
  }

  async function requireMore(): Promise<void> {
    if (!(await readOn())) throw new S3Error('IncompleteBody', 'The body ended in the middle of its framing.');
  }

  function takeHeld(count: number): Buffer {
    const taken = held.subarray(0, count);
    held = held.subarray(taken.length);
    return taken;
  }

  async function line(maxBytes: number): Promise<string | undefined> {
    let end = held.indexOf(crlf);
    while (end < 0 && held.length <= maxBytes + 1) {
      await requireMore();
      end = held.indexOf(crlf);
    }
    if (end < 0 || end > maxBytes) return undefined;
    const text = takeHeld(end).toString('latin1');
    takeHeld(crlf.length);
    return text;
  }

  async function some(maxBytes: number): Promise<Buffer> {
    while (held.length === 0) await requireMore();
    return takeHeld(maxBytes);
  }

  async function* until(delimiter: Buffer): AsyncGenerator<Buffer, void, undefined> {
    for (;;) {
      const end = held.indexOf(delimiter);
      if (end >= 0) {
        if (end > 0) yield takeHeld(end);
        takeHeld(delimiter.length);
        return;
      }
      // The last bytes may be the beginning of the delimiter.
      const sure = held.length - delimiter.length + 1;
      if (sure > 0) yield takeHeld(sure);
      await requireMore();
    }
  }

  return {
    line,
    some,
    until,
    isAtEnd: async () => {
      while (held.length === 0) if (!(await readOn())) return true;
      return false;
    },
    close: async () => {
      await chunks.return?.();
    },
  };
}
