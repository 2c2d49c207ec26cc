import { keep, readKept } from '../keep.ts';
import { en } from './en.ts';

/** Widens literal types, so that another language may say something else. */
export type Widen<T> = T extends string
  ? string
  : T extends (...args: infer A) => string
    ? (...args: A) => string
    : T extends readonly string[]
      ? readonly string[]
      : { [K in keyof T]: Widen<T[K]> };

export type Text = Widen<typeof en>;
export type Language = 'en' | 'de';

export const languages: Record<Language, string> = { en: 'English', de: 'Deutsch' };

const stored = readKept('cadiz.language');
export const language: Language =
  stored === 'en' || stored === 'de' ? stored : navigator.language.startsWith('de') ? 'de' : 'en';

/** All words of the console, in the language of the reader. */
export const text: Text = language === 'de' ? (await import('./de.ts')).de : en;
document.documentElement.lang = language;

export function setLanguage(chosen: Language): void {
  keep('cadiz.language', chosen);
  location.reload();
}
