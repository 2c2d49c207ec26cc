import { type ErrorEntry, errorCatalogue, toOpenApiDocument } from '@cadiz/contract';
import { Problem } from '../../problem.ts';
import type { Config } from '../../settings/config.ts';
import { version } from '../../telemetry/version.ts';
import { type Handler, Whole } from '../exchange.ts';

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
<h2>What happened</h2><p>${escapeHtml(happened)}</p><h2>How to fix it</h2><p>${escapeHtml(mend)}</p></main></body></html>
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
