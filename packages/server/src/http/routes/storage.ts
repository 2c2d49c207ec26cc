import { ListQuery } from '@cadiz/contract';
import { listFiles } from '../../features/files/list-files.ts';
import { requireKeyOrSession } from '../caller.ts';
import type { Handler } from '../exchange.ts';
import { readQuery } from '../input.ts';
import { streamJson } from '../stream-json.ts';

export const list: Handler = async (deps, exchange) => {
  const caller = await requireKeyOrSession(deps, exchange);
  const query = readQuery(exchange, ListQuery);
  const gone = new AbortController();
  exchange.onClose(() => gone.abort());
  try {
    return await streamJson(await listFiles(deps, caller, query, gone.signal), deps.log, gone);
  } catch (error) {
    // Nobody reads this answer; the status is what proxies count such requests under.
    if (gone.signal.aborted) return new Response(null, { status: 499 });
    throw error;
  }
};
