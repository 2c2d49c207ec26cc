import { type ErrorEntry, errorCatalogue, toOpenApiDocument } from '@cadiz/contract';
import type { Config } from '../../config.ts';
import { Problem } from '../../problem.ts';
import { version } from '../../version.ts';
import { type Handler, Whole } from '../exchange.ts';

export const welcome: Handler = ({ config }) => ({
  name: 'cadiz',
  version,
  openapi: `${config.publicUrl}/openapi.json`,
});

export const live: Handler = () => ({ status: 'ok' });

export const ready: Handler = async ({ db, objects, draining }) => {
  const [database, objectStore] = await Promise.all([stateOf(db.check()), stateOf(objects.check())]);
  const dependencies = { database, objectStore };
  const down = Object.entries(dependencies).filter(([, { status }]) => status === 'down');
  if (down.length === 0 && !draining()) return { status: 'ready', dependencies };
  const detail = draining() ? 'The service is stopping.' : `Down: ${down.map(([name]) => name).join(', ')}.`;
  throw new Problem('not_ready', detail, { extra: { dependencies }, headers: { 'Retry-After': '5' } });
};

const checkMilliseconds = 3_000;

async function stateOf(check: Promise<void>): Promise<{ status: 'up' | 'down'; detail?: string }> {
  const slow = AbortSignal.timeout(checkMilliseconds);
  const timeout = new Promise<never>((_, reject) => {
    slow.addEventListener('abort', () => reject(new Error(`no answer within ${checkMilliseconds / 1000} s`)));
  });
  try {
    await Promise.race([check, timeout]);
    return { status: 'up' };
  } catch {
    // The reason may name hosts and users, and anybody may ask: it is in the log of the operation that fails.
    return { status: 'down', detail: 'does not answer' };
  }
}

const documents = new WeakMap<Config, Whole>();

export const openapi: Handler = ({ config }) => {
  const document = documents.get(config) ?? toOpenApi(config);
  documents.set(config, document);
  return document;
};

function toOpenApi({ publicUrl }: Config): Whole {
  return new Whole(Buffer.from(JSON.stringify(toOpenApiDocument(publicUrl, version))), 'application/json');
}

const errorPages = new Map(
  Object.entries(errorCatalogue).map(([code, entry]) => [
    code,
    new Whole(toErrorPage(code, entry), 'text/html; charset=utf-8', ['Cross-Origin-Opener-Policy', 'same-origin']),
  ]),
);

export const errorPage: Handler = (_deps, exchange) => {
  const page = errorPages.get(exchange.params.code ?? '');
  if (!page) throw new Problem('not_found');
  return page;
};

function toErrorPage(code: string, { status, title, happened, mend }: ErrorEntry): Buffer {
  return Buffer.from(
    `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${code} · Cadiz</title><body><main><h1>${escapeHtml(title)}</h1><p><code>${code}</code>, HTTP status ${status}</p>
<h2>What happened</h2><p>${escapeHtml(happened)}</p><h2>How to mend it</h2><p>${escapeHtml(mend)}</p></main></body></html>
`,
  );
}

function escapeHtml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll(/`([^`]*)`/g, '<code>$1</code>');
}
