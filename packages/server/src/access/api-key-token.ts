import { createTokens } from './token.ts';

export { hashToken } from './token.ts';

export const apiKeyTokens = createTokens('cz_live_');

/** A new raw API key. */
export const mintToken = apiKeyTokens.mint;
/** Whether a string can be an API key at all. */
export const isWellFormedToken = apiKeyTokens.isWellFormed;
