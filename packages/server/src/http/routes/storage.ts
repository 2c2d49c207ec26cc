import { ListQuery, PresignRequest, RecordRequest, UsageQuery } from '@cadiz/contract';
import { listFiles } from '../../features/files/list-files.ts';
import { presignUpload } from '../../features/files/presign-upload.ts';
import { recordUpload } from '../../features/files/record-upload.ts';
import { readUsage } from '../../features/usage/read-usage.ts';
import { requireKeyOrSession } from '../caller.ts';
import type { Handler } from '../exchange.ts';
import { readBody, readQuery } from '../input.ts';
import { streamJson } from '../stream-json.ts';
import { whileConnected } from '../while-connected.ts';

export const presign: Handler = async (deps, exchange) => {
  const caller = await requireKeyOrSession(deps, exchange);
  return presignUpload(deps, caller, await readBody(exchange, PresignRequest));
};

export const record: Handler = async (deps, exchange) => {
  const caller = await requireKeyOrSession(deps, exchange);
  return recordUpload(deps, caller, await readBody(exchange, RecordRequest));
};

export const list: Handler = async (deps, exchange) => {
  const caller = await requireKeyOrSession(deps, exchange);
  const query = readQuery(exchange, ListQuery);
  return whileConnected(exchange, async (gone) =>
    streamJson(await listFiles(deps, caller, query, gone.signal), deps.log, gone),
  );
};

export const usage: Handler = async (deps, exchange) => {
  const caller = await requireKeyOrSession(deps, exchange);
  return readUsage(deps, caller, readQuery(exchange, UsageQuery));
};
