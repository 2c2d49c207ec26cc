export { unsignedPayload } from './canonical-request.ts';
export type { ChunkSigner } from './chunk-signer.ts';
export type { Credentials } from './credentials.ts';
export { parseRequestTarget, type RequestTarget, uriEncode, uriEncodePath } from './encode.ts';
export { createPresigner, type PresignOptions, type PresignRequest } from './presign.ts';
export { type Refused, version2Advice } from './refusal.ts';
export { createRequestSigner, emptyPayloadHash, type SignRequest } from './sign.ts';
export { type Verified, type VerifyOptions, type VerifyRequest, verifyRequest } from './verify.ts';
export { type SignedPolicy, verifyPolicy } from './verify-policy.ts';
