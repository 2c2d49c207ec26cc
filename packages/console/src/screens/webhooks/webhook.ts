import type { Answer } from '@cadiz/contract';

/** An endpoint, as the service describes it. */
export type Webhook = Answer<'getWebhook'>;
