import { keep, readKept } from '../keep.ts';
import { en } from './en.ts';
import type { Widen } from './widen.ts';

export type Language = 'en' | 'de';

export const languages: Record<Language, string> = { en: 'English', de: 'Deutsch' };

const stored = readKept('cadiz.language');
export const language: Language =
  stored === 'en' || stored === 'de' ? stored : navigator.language.startsWith('de') ? 'de' : 'en';

/** All words of the console, in the language of the reader. */
export const text: Widen<typeof en> = language === 'de' ? (await import('./de.ts')).de : en;
document.documentElement.lang = language;

export function setLanguage(chosen: Language): void {
  keep('cadiz.language', chosen);
  location.reload();
}
