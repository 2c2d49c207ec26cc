import { ListQuery } from '@cadiz/contract';
import { userOf } from '../../access/caller.ts';
import { listFiles } from '../../features/files/list-files.ts';
import { requireKeyOrSession } from '../caller.ts';
import type { Handler } from '../exchange.ts';
import { holdListing } from '../hold-listing.ts';
import { readQuery } from '../input.ts';
import { toLoggedRequest } from '../logged-request.ts';
import { streamJson } from '../stream-json.ts';
import { whileConnected } from '../while-connected.ts';

export const list: Handler = async (deps, exchange) => {
  const caller = await requireKeyOrSession(deps, exchange);
  const query = readQuery(exchange, ListQuery);
  return whileConnected(exchange, async (gone) =>
    streamJson(
      await listFiles(deps, caller, query, gone.signal),
      deps.log,
      gone,
      () => toLoggedRequest(exchange),
      (bytes) => holdListing(exchange, userOf(caller), bytes),
    ),
  );
};
