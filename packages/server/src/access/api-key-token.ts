import { createTokens } from './token.ts';

export { hashToken } from './token.ts';

const tokens = createTokens('cz_live_');

/** A new raw API key. */
export const mintToken = tokens.mint;
/** Whether a string can be an API key at all. */
export const isWellFormedToken = tokens.isWellFormed;
