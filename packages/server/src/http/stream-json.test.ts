import { pino } from 'pino';
import { describe, expect, test } from 'vitest';
import { Whole } from './exchange.ts';
import { streamJson } from './stream-json.ts';

const large = 'x'.repeat(70_000);

/** A readable log, and the progress of the listing. */
function observe() {
  const lines: string[] = [];
  return { log: pino({}, { write: (line) => void lines.push(line) }), lines, made: 0, ended: false };
}
type Observed = ReturnType<typeof observe>;

async function* pieces(observed: Observed, count: number, piece = large): AsyncGenerator<string, void> {
  try {
    for (let n = 0; n < count; n += 1) {
      observed.made += 1;
      yield piece;
    }
  } finally {
    observed.ended = true;
  }
}

/** Resolves once everything that is ready to run has run. */
const settle = () => new Promise((resolve) => setTimeout(resolve, 20));

function readerOf(response: Response | Whole): ReadableStreamDefaultReader<Uint8Array> {
  if (!(response instanceof Response) || !response.body) throw new Error('The response has no body');
  return response.body.getReader();
}

test('what is short is sent whole', async () => {
  const observed = observe();
  const response = await streamJson(pieces(observed, 3, '"é👍"'), observed.log, new AbortController());
  expect(observed).toMatchObject({ made: 3, ended: true });
  expect(response).toEqual(new Whole(Buffer.from('"é👍"'.repeat(3)), 'application/json'));
});

test('what is long arrives whole, in several chunks', async () => {
  const observed = observe();
  const reader = readerOf(await streamJson(pieces(observed, 5), observed.log, new AbortController()));
  const chunks: Uint8Array[] = [];
  for (let next = await reader.read(); !next.done; next = await reader.read()) chunks.push(next.value);
  expect(Buffer.concat(chunks).toString()).toBe(large.repeat(5));
  expect(chunks).toHaveLength(5);
  expect(observed).toMatchObject({ made: 5, ended: true, lines: [] });
});

describe('a reader', () => {
  test('that stops reading stops the work', async () => {
    const observed = observe();
    const reader = readerOf(await streamJson(pieces(observed, 100), observed.log, new AbortController()));
    await settle();
    expect(observed.made).toBe(1);
    await reader.read();
    await reader.read();
    await settle();
    expect(observed.made).toBe(2);
    await reader.cancel();
  });

  test('that goes away ends the work', async () => {
    const observed = observe();
    const reader = readerOf(await streamJson(pieces(observed, 100), observed.log, new AbortController()));
    await reader.read();
    await reader.read();
    await reader.cancel();
    await settle();
    expect(observed).toMatchObject({ made: 2, ended: true, lines: [] });
  });

  test('that goes away while a piece is being made ends the work, and nothing is logged as a failure', async () => {
    const observed = observe();
    let go: (() => void) | undefined;
    const gate = new Promise<void>((resolve) => {
      go = resolve;
    });
    async function* slow(): AsyncGenerator<string, void> {
      try {
        yield large;
        await gate;
        yield large;
        observed.made += 1;
      } finally {
        observed.ended = true;
      }
    }
    const reader = readerOf(await streamJson(slow(), observed.log, new AbortController()));
    await reader.read();
    const pending = reader.read();
    const cancelled = reader.cancel();
    go?.();
    await cancelled;
    expect((await pending).done).toBe(true);
    await settle();
    expect(observed).toMatchObject({ made: 0, ended: true, lines: [] });
  });
});

describe('a failure', () => {
  async function* failing(before: string[]): AsyncGenerator<string, void> {
    yield* before;
    throw new Error('the database went');
  }

  test('before anything was sent is thrown, so that it can be answered', async () => {
    const { log } = observe();
    await expect(streamJson(failing(['{"files":[']), log, new AbortController())).rejects.toThrow('the database went');
  });

  test('on the way breaks the answer off, and is logged', async () => {
    const observed = observe();
    const reader = readerOf(await streamJson(failing([large, large]), observed.log, new AbortController()));
    const readAll = async () => {
      while (!(await reader.read()).done);
    };
    await expect(readAll()).rejects.toThrow();
    expect(observed.lines).toHaveLength(1);
    expect(observed.lines[0]).toContain('A listing broke off');
  });
});
