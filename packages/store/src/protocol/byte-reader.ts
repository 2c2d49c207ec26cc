import { S3Error } from './s3-error.ts';

/** Reads a stream the way its consumer asks for it, however the network splits it. Holds about one network chunk. */
export interface ByteReader {
  /** The next line, without its CRLF; undefined if it is longer than this. */
  line(maxBytes: number): Promise<string | undefined>;
  /** The next bytes: at least one, at most this many. */
  some(maxBytes: number): Promise<Buffer>;
  /** The bytes up to a delimiter, which is skipped. */
  until(delimiter: Buffer): AsyncGenerator<Buffer, void, undefined>;
  isAtEnd(): Promise<boolean>;
  /** Always call this at the end: it releases the stream without destroying it. */
  close(): Promise<void>;
}

const crlf = Buffer.from('\r\n');
const nothing = Buffer.alloc(0);

/** All methods throw S3Error IncompleteBody if the stream ends before they find what they look for. */
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
      // The last bytes may be the start of the delimiter.
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
