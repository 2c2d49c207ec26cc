import { language } from './text.ts';
import { en } from './webhooks-en.ts';
import type { Widen } from './widen.ts';

/** The words of the webhooks' screen, which is loaded later than the others. */
export const webhooks: Widen<typeof en> = language === 'de' ? (await import('./webhooks-de.ts')).de : en;
