import { CreateFolderRequest, FolderParams, ListQuery, PresignRequest, RecordRequest } from '@cadiz/contract';
import { listFiles } from '../../features/files/list-files.ts';
import { presignUpload } from '../../features/files/presign-upload.ts';
import { recordUpload } from '../../features/files/record-upload.ts';
import { createFolder } from '../../features/folders/create-folder.ts';
import { getFolder } from '../../features/folders/get-folder.ts';
import { requireKeyOrSession } from '../caller.ts';
import type { Handler } from '../exchange.ts';
import { readBody, readParams, readQuery } from '../input.ts';
import { streamJson } from '../stream-json.ts';

export const presign: Handler = async (deps, c) => {
  const caller = await requireKeyOrSession(deps, c);
  return presignUpload(deps, caller, await readBody(c, PresignRequest));
};

export const record: Handler = async (deps, c) => {
  const caller = await requireKeyOrSession(deps, c);
  return recordUpload(deps, caller, await readBody(c, RecordRequest));
};

export const list: Handler = async (deps, c) => {
  const caller = await requireKeyOrSession(deps, c);
  return streamJson(await listFiles(deps, caller, readQuery(c, ListQuery)), deps.log);
};

export const createFolderRoute: Handler = async (deps, c) => {
  const caller = await requireKeyOrSession(deps, c);
  return createFolder(deps, caller, await readBody(c, CreateFolderRequest));
};

export const getFolderRoute: Handler = async (deps, c) => {
  const caller = await requireKeyOrSession(deps, c);
  return getFolder(deps, caller, readParams(c, FolderParams).id);
};
