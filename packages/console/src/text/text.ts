import { keep, readKept } from '../keep.ts';
import { en } from './en.ts';
import type { Widen } from './widen.ts';

export type Language = 'en' | 'de';

export const languages: Record<Language, string> = { en: 'English', de: 'Deutsch' };

/** Browsers may name a language as the system does, such as `en-US@posix`, which `Intl` refuses. */
const isTag = (one: string): boolean => {
  try {
    return Intl.getCanonicalLocales(one).length > 0;
  } catch {
    return false;
  }
};

const stored = readKept('cadiz.language');
export const language: Language =
  stored === 'en' || stored === 'de' ? stored : navigator.language.startsWith('de') ? 'de' : 'en';

/** The language as the reader's region writes it. */
export const locale =
  navigator.languages.filter(isTag).find((one) => one === language || one.startsWith(`${language}-`)) ?? language;
// The library that draws the usage passes the language of the browser to Intl as it is.
if (!isTag(navigator.language)) Object.defineProperty(navigator, 'language', { value: locale });

/** All words of the console, in the language of the reader. */
export const text: Widen<typeof en> = language === 'de' ? (await import('./de.ts')).de : en;
document.documentElement.lang = language;

/** Keeps the choice in this browser, and loads the page again. */
export function setLanguage(chosen: Language): void {
  keep('cadiz.language', chosen);
  location.reload();
}
