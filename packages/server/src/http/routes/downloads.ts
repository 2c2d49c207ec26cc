import { ArchiveParams, ContentQuery, FileParams } from '@cadiz/contract';
import { readArchive } from '../../features/downloads/read-archive.ts';
import { signDownload } from '../../features/downloads/sign-download.ts';
import { toContentDisposition } from '../../serving/content-disposition.ts';
import { withinTrace } from '../../telemetry/within-trace.ts';
import { openFile } from '../../tree/open-file.ts';
import { requireKeyOrSession } from '../caller.ts';
import { type Handler, redirectedMethod } from '../exchange.ts';
import { readParams, readQuery } from '../input.ts';
import { toLoggedRequest } from '../logged-request.ts';
import { streamBytes } from '../stream-bytes.ts';
import { whileConnected } from '../while-connected.ts';

/** Long enough to play a recording and jump about in it: a player requests the same URL for each piece. */
const contentSeconds = 900;

export const redirectToContent: Handler = async (deps, exchange) => {
  const caller = await requireKeyOrSession(deps, exchange);
  const { id } = readParams(exchange, FileParams);
  const { disposition } = readQuery(exchange, ContentQuery);
  const { file } = await openFile(deps, caller, id, 'files:read');
  const wanted = { expiresIn: contentSeconds, disposition, method: redirectedMethod(exchange) };
  const { url } = signDownload(deps, file, wanted);
  return new Response(null, {
    status: 302,
    // Pages of other origins may embed this link too: its target has its own rules about that.
    headers: { Location: url, 'Referrer-Policy': 'no-referrer', 'Cross-Origin-Resource-Policy': 'cross-origin' },
  });
};

export const downloadArchive: Handler = (deps, exchange) =>
  whileConnected(exchange, async ({ signal }) => {
    const { token } = readParams(exchange, ArchiveParams);
    // It lasts until the last byte, long after the request has its answer.
    const trace = deps.trace?.begin('archive', {});
    const own = trace ? withinTrace(deps, trace) : deps;
    const archive = await readArchive(own, token, signal).catch((error: unknown) => {
      trace?.end(error);
      throw error;
    });
    const { name, bytes, lost } = archive;
    const close = () => {
      archive.close();
      trace?.end();
    };
    const headers = {
      'Content-Type': 'application/zip',
      'Content-Disposition': toContentDisposition('attachment', name),
      // No other route sends bytes of files from the service's own origin: browsers save them, and they could do
      // nothing if opened.
      'Content-Security-Policy': "default-src 'none'; sandbox",
      'Referrer-Policy': 'no-referrer',
      'Accept-Ranges': 'none',
    };
    if (exchange.method === 'HEAD') {
      close();
      return new Response(null, { headers });
    }
    const about = () => toLoggedRequest(exchange);
    const body = streamBytes(bytes, { what: 'A download', close, log: deps.log, about, cutOff: lost });
    return new Response(body, { headers });
  });
