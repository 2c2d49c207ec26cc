import { isUtf8 } from 'node:buffer';
import type { Answer, Exchange, Query, WholeAnswer } from './exchange.ts';
import { tooLarge } from './input.ts';

/** Wraps a web-standard request, which does not carry the address of its sender. */
export function fromFetch(request: Request, remoteAddress?: string): Exchange {
  const { pathname, search } = new URL(request.url);
  return {
    requestId: '',
    method: request.method,
    path: pathname,
    params: {},
    operation: undefined,
    trace: undefined,
    keyId: undefined,
    keyProjectId: undefined,
    input: undefined,
    refreshCaller: undefined,
    extraHeaders: [],
    query: () => toQuery(search.slice(1)),
    remoteAddress: () => remoteAddress,
    headers: Object.fromEntries(request.headers),
    readBytes: (maxBytes) => readBytes(request, maxBytes),
    onSent: (listener) => listener(),
    onClose: (listener) => {
      if (request.signal.aborted) listener();
      else request.signal.addEventListener('abort', listener, { once: true });
    },
  };
}

/** The answer as a web-standard response; to HEAD, without its body. */
export function toFetch(answer: Answer, method: string): Response {
  const response = answer instanceof Response ? answer : toResponse(answer);
  return method === 'HEAD' ? new Response(null, response) : response;
}

function toResponse({ status, headers, body }: WholeAnswer): Response {
  const all = new Headers();
  for (let i = 0; i + 1 < headers.length; i += 2) all.append(headers[i] ?? '', headers[i + 1] ?? '');
  return new Response(body, { status, headers: all });
}

/** @param search what stands after the `?` in the URL */
export function toQuery(search: string): Query {
  if (search === '') return emptyQuery;
  const values = new Map<string, string>();
  const repeated = new Set<string>();
  for (const [name, value] of new URLSearchParams(search)) {
    if (values.has(name)) repeated.add(name);
    else values.set(name, value);
  }
  const undecodable = search
    .split('&')
    .filter(isUndecodable)
    .flatMap((pair) => [...new URLSearchParams(pair).keys()]);
  return { values: Object.fromEntries(values), repeated: [...repeated], undecodable };
}

const emptyQuery: Query = { values: {}, repeated: [], undecodable: [] };

/** Whether there are percent-encoded bytes that are not UTF-8. Where no two digits follow, `%` stands for itself. */
function isUndecodable(pair: string): boolean {
  const encoded = pair.match(/(?:%[0-9a-f]{2})+/gi) ?? [];
  return encoded.some((bytes) => !isUtf8(Buffer.from(bytes.replaceAll('%', ''), 'hex')));
}

async function readBytes(request: Request, maxBytes: number): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of request.body ?? []) {
    size += chunk.length;
    if (size > maxBytes) throw tooLarge(maxBytes);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
