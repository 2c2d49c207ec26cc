import type { PGlite } from '@electric-sql/pglite';

/** PGlite's one session, over PostgreSQL's wire protocol. */
export interface WireSession {
  /** Discards an earlier client's state, such as an open transaction, named statements and LISTENs. */
  reset(): void;
  /** Takes whole messages, ending in Query, Sync or Flush, and passes the answer on in pieces as it arrives. */
  send(messages: Uint8Array, answer: (bytes: Uint8Array<ArrayBuffer>) => void): void;
}

interface Internals {
  _PostgresMainLoopOnce(): void;
}

const pieceBytes = 64 * 1024;
/** How PGlite's build of PostgreSQL returns to its main loop after an error in a statement. */
const longJump = 100;

const sync = new Uint8Array([0x53, 0, 0, 0, 4]);

/**
 * @param crash called, and expected not to return, if PostgreSQL itself has failed (a panic, a full disk, a failed
 *   fsync). PGlite would swallow that and go on, or loop for ever, in a state that cannot be trusted.
 */
export function openWireSession(pglite: PGlite, crash: (cause: unknown) => void): WireSession {
  const module: Internals = pglite.Module;
  const loopOnce = module._PostgresMainLoopOnce;
  module._PostgresMainLoopOnce = () => {
    try {
      loopOnce();
    } catch (error) {
      if ((error as { status?: unknown }).status !== longJump) crash(error);
      throw error;
    }
  };

  function send(messages: Uint8Array, answer: (bytes: Uint8Array<ArrayBuffer>) => void): void {
    let pieces: Uint8Array[] = [];
    let size = 0;
    const flush = () => {
      if (size > 0) answer(join(pieces, size));
      pieces = [];
      size = 0;
    };
    // Not execProtocolRaw, which also parses every answer and keeps the result for ever (0.5.16). This call runs to the
    // end before it returns; its promise waits for a file system that has nothing to do here.
    void pglite.execProtocolRawStream(messages, {
      syncToFs: false,
      onRawData: (bytes) => {
        pieces.push(bytes.slice());
        size += bytes.length;
        if (size >= pieceBytes) flush();
      },
    });
    flush();
  }

  return {
    send,
    reset() {
      // The Sync ends the skipping after an error. Each statement goes alone, because DISCARD ALL refuses to run in a
      // transaction.
      for (const message of [sync, toQuery('rollback'), toQuery('discard all')]) send(message, () => undefined);
    },
  };
}

/** Copies into memory of its own, which can be transferred to another thread: a Buffer shares its memory. */
function join(pieces: Uint8Array[], size: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(size);
  let offset = 0;
  for (const piece of pieces) {
    bytes.set(piece, offset);
    offset += piece.length;
  }
  return bytes;
}

/** @see https://www.postgresql.org/docs/current/protocol-message-formats.html#PROTOCOL-MESSAGE-FORMATS-QUERY */
function toQuery(sql: string): Uint8Array {
  const message = Buffer.alloc(sql.length + 6);
  message.write('Q', 0);
  message.writeInt32BE(sql.length + 5, 1);
  message.write(sql, 5);
  return message;
}
