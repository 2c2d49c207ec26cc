import { en } from './later-en.ts';
import { language } from './text.ts';
import type { Widen } from './widen.ts';

/** The words of screens that few people open, or seldom: they are loaded with the first of these screens. */
export const later: Widen<typeof en> = language === 'de' ? (await import('./later-de.ts')).de : en;
