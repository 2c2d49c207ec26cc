import { Duplex } from 'node:stream';

/**
 * The parts of a socket that `pg` needs, over messages. `pg` writes whole messages; corked writes go out as one piece.
 */
export class MessageStream extends Duplex {
  readonly #open: () => void;
  readonly #send: (bytes: Uint8Array<ArrayBuffer>) => void;

  /** @param open called when `pg` connects; an error it throws becomes the connection's error */
  constructor(open: () => void, send: (bytes: Uint8Array<ArrayBuffer>) => void) {
    super();
    this.#open = open;
    this.#send = send;
  }

  connect(): this {
    process.nextTick(() => {
      try {
        this.#open();
        this.emit('connect');
      } catch (error) {
        this.destroy(error as Error);
      }
    });
    return this;
  }

  receive(bytes: Uint8Array<ArrayBuffer>): void {
    if (!this.destroyed) this.push(Buffer.from(bytes.buffer));
  }

  override _read(): void {
    // Answers are pushed as they arrive: there is one query at a time, so at most one answer waits here.
  }

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    // A copy, because the memory is transferred to the other thread and pg may reuse its own.
    this.#send(new Uint8Array(chunk));
    done();
  }

  override _writev(chunks: { chunk: Buffer }[], done: () => void): void {
    this._write(Buffer.concat(chunks.map(({ chunk }) => chunk)), 'buffer', done);
  }

  override _final(done: () => void): void {
    this.push(null);
    done();
  }

  setNoDelay(): this {
    return this;
  }

  setKeepAlive(): this {
    return this;
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }
}
