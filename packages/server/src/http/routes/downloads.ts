import { ContentQuery, DownloadUrlRequest, FileParams } from '@cadiz/contract';
import { createDownloadUrl } from '../../features/downloads/create-download-url.ts';
import { requireKeyOrSession } from '../caller.ts';
import type { Handler } from '../exchange.ts';
import { readBody, readParams, readQuery } from '../input.ts';

export const createDownloadUrlRoute: Handler = async (deps, exchange) => {
  const caller = await requireKeyOrSession(deps, exchange);
  const { id } = readParams(exchange, FileParams);
  return createDownloadUrl(deps, caller, id, await readBody(exchange, DownloadUrlRequest));
};

/** Long enough to listen to something and jump about in it: a player asks the same address for each piece. */
const contentSeconds = 900;

export const redirectToContent: Handler = async (deps, exchange) => {
  const caller = await requireKeyOrSession(deps, exchange);
  const { id } = readParams(exchange, FileParams);
  const { disposition } = readQuery(exchange, ContentQuery);
  const { url } = await createDownloadUrl(deps, caller, id, { expiresIn: contentSeconds, disposition });
  return new Response(null, { status: 302, headers: { Location: url, 'Referrer-Policy': 'no-referrer' } });
};
