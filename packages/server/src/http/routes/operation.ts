import { setTimeout as delay } from 'node:timers/promises';
import { type ErrorCode, errorCatalogue, toOpenApiDocument } from '@cadiz/contract';
import type { Config } from '../../config.ts';
import type { DependenciesHealth, Status } from '../../health.ts';
import { Problem } from '../../problem.ts';
import { version } from '../../version.ts';
import type { Handler } from '../exchange.ts';

export const welcome: Handler = ({ config }) => ({
  name: 'cadiz',
  version,
  openapi: `${config.publicUrl}/openapi.json`,
});

export const live: Handler = () => ({ status: 'ok' });

/**
 * For a proxy, about this process alone: an outage of what all processes share must not take all of them out at once, since
 * what needs no dependency goes on. The dependencies are named as they are known, without waiting for one that hangs.
 */
export const ready: Handler = async ({ health, draining }) => {
  await Promise.race([health.look(), delay(readyMilliseconds, undefined, { ref: false })]);
  const dependencies = health.latest();
  const unwritable = namesOf(dependencies, 'available');
  if (!draining() && unwritable.length === 0) return { status: 'ready', dependencies };
  const detail = draining() ? 'The service is stopping.' : `Its own disk takes no writes: ${unwritable.join(', ')}.`;
  throw new Problem('not_ready', detail, { extra: { dependencies }, headers: { 'Retry-After': '5' } });
};

/** For people and alarms, about everything that the service depends on. */
export const health: Handler = async ({ health }) => {
  const dependencies = await health.look();
  const down = namesOf(dependencies, 'down');
  if (down.length > 0) {
    const detail = `Down: ${down.join(', ')}.`;
    throw new Problem('dependency_down', detail, { extra: { dependencies }, headers: { 'Retry-After': '5' } });
  }
  return { status: namesOf(dependencies, 'available').length > 0 ? 'available' : 'healthy', dependencies };
};

/** A proxy waits a second or two for its answer. */
const readyMilliseconds = 500;

function namesOf(dependencies: DependenciesHealth, status: Status): string[] {
  return Object.entries(dependencies)
    .filter(([, dependency]) => dependency.status === status)
    .map(([name]) => name);
}

const documents = new WeakMap<Config, string>();

export const openapi: Handler = ({ config }) => {
  const document = documents.get(config) ?? JSON.stringify(toOpenApiDocument(config.publicUrl, version));
  documents.set(config, document);
  return new Response(document, { headers: { 'Content-Type': 'application/json' } });
};

export const errorPage: Handler = (_deps, exchange) => {
  const code = exchange.params.code ?? '';
  if (!Object.hasOwn(errorCatalogue, code)) throw new Problem('not_found');
  const { status, title, happened, mend } = errorCatalogue[code as ErrorCode];
  return new Response(
    `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${code} · Cadiz</title><body><main><h1>${escapeHtml(title)}</h1><p><code>${code}</code>, HTTP status ${status}</p>
<h2>What happened</h2><p>${escapeHtml(happened)}</p><h2>How to mend it</h2><p>${escapeHtml(mend)}</p></main></body></html>
`,
    {
      headers: { 'Content-Type': 'text/html; charset=utf-8', 'Cross-Origin-Opener-Policy': 'same-origin' },
    },
  );
};

function escapeHtml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll(/`([^`]*)`/g, '<code>$1</code>');
}
