import { CompleteUploadRequest, CreateUploadRequest, routes, SignPartsRequest, UploadParams } from '@cadiz/contract';
import { abortUpload } from '../../features/uploads/abort-upload.ts';
import { completeUpload } from '../../features/uploads/complete-upload.ts';
import { createUpload } from '../../features/uploads/create-upload.ts';
import { getUpload } from '../../features/uploads/get-upload.ts';
import { signParts } from '../../features/uploads/sign-parts.ts';
import { requireKeyOrSession } from '../caller.ts';
import type { Handler } from '../exchange.ts';
import { readBody, readParams } from '../input.ts';

export const createUploadRoute: Handler = async (deps, exchange) => {
  const caller = await requireKeyOrSession(deps, exchange);
  return createUpload(deps, caller, await readBody(exchange, CreateUploadRequest));
};

export const signPartsRoute: Handler = async (deps, exchange) => {
  const caller = await requireKeyOrSession(deps, exchange);
  const { uploadId } = readParams(exchange, UploadParams);
  return signParts(deps, caller, uploadId, await readBody(exchange, SignPartsRequest));
};

export const getUploadRoute: Handler = async (deps, exchange) => {
  const caller = await requireKeyOrSession(deps, exchange);
  return getUpload(deps, caller, readParams(exchange, UploadParams).uploadId);
};

export const completeUploadRoute: Handler = async (deps, exchange) => {
  const caller = await requireKeyOrSession(deps, exchange);
  const { uploadId } = readParams(exchange, UploadParams);
  const request = await readBody(exchange, CompleteUploadRequest, routes.completeUpload.maxBodyBytes);
  return completeUpload(deps, caller, uploadId, request);
};

export const abortUploadRoute: Handler = async (deps, exchange) => {
  const caller = await requireKeyOrSession(deps, exchange);
  return abortUpload(deps, caller, readParams(exchange, UploadParams).uploadId);
};
