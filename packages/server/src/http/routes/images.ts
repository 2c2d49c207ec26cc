import { FileParams, ImageQuery, SignedImageParams } from '@cadiz/contract';
import { getImage, type SignedImage } from '../../features/images/get-image.ts';
import { openImage as openSigned } from '../../features/images/open-image.ts';
import { mayVary } from '../../images/spec.ts';
import { requireKeyOrSession } from '../caller.ts';
import { type Handler, redirectedMethod } from '../exchange.ts';
import { readParams, readQuery } from '../input.ts';

export const redirectToImage: Handler = async (deps, exchange) => {
  const caller = await requireKeyOrSession(deps, exchange);
  const { id } = readParams(exchange, FileParams);
  const options = readQuery(exchange, ImageQuery);
  if (mayVary(options)) exchange.extraHeaders.push('Vary', 'Accept');
  const asking = { accept: exchange.headers.accept, method: redirectedMethod(exchange) };
  return redirect(await getImage(deps, caller, { id, ...options }, asking), 'private');
};

export const openImage: Handler = async (deps, exchange) => {
  const { token } = readParams(exchange, SignedImageParams);
  // The token says whether it does: not known here, and harmless otherwise.
  exchange.extraHeaders.push('Vary', 'Accept');
  const asking = { accept: exchange.headers.accept, method: redirectedMethod(exchange) };
  return redirect(await openSigned(deps, token, asking), 'public');
};

function redirect({ url, cacheSeconds }: SignedImage, cachedBy: 'private' | 'public'): Response {
  const headers = {
    Location: url,
    'Cache-Control': `${cachedBy}, max-age=${Math.floor(cacheSeconds)}`,
    'Referrer-Policy': 'no-referrer',
    // Pages of other origins may show it: the URL that it leads to has its own rules about that.
    'Cross-Origin-Resource-Policy': 'cross-origin',
  };
  return new Response(null, { status: 302, headers });
}
