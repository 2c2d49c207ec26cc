import { createTokens } from './token.ts';

export const apiKeyTokens = createTokens('cz_live_');
