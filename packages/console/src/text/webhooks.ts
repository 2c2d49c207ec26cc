import { language, type Widen } from './text.ts';
import { en } from './webhooks-en.ts';

export type WebhookText = Widen<typeof en>;

/** The words of the webhooks' screen, which is loaded later than the others. */
export const webhooks: WebhookText = language === 'de' ? (await import('./webhooks-de.ts')).de : en;
