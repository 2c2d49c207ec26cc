import { emptyPayloadHash } from './sign.ts';
import type { Sign } from './signing-key.ts';

/**
 * Signs the chunks of an aws-chunked body one after another, each over the previous signature ("Signature Calculations
 * for the Authorization Header: Transferring Payload in Multiple Chunks", and "… Including Trailing Headers").
 * Hashes are hexadecimal SHA-256, signatures hexadecimal HMAC-SHA-256.
 */
export interface ChunkSigner {
  /** The signature that the next chunk must have; the last chunk is empty. */
  chunk(dataHash: string): string;
  /** The signature over the trailer, which follows the last chunk. `trailerHash` is that of its `name:value\n` lines. */
  trailer(trailerHash: string): string;
}

/** Starts the chain with the signature of the request's headers. */
export function createChunkSigner(sign: Sign, amzDate: string, scope: string, seedSignature: string): ChunkSigner {
  let previous = seedSignature;
  const next = (algorithm: string, ...hashes: string[]) => {
    previous = sign([algorithm, amzDate, scope, previous, ...hashes].join('\n'));
    return previous;
  };
  return {
    chunk: (dataHash) => next('AWS4-HMAC-SHA256-PAYLOAD', emptyPayloadHash, dataHash),
    trailer: (trailerHash) => next('AWS4-HMAC-SHA256-TRAILER', trailerHash),
  };
}
