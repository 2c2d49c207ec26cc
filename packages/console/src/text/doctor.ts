import type { DoctorText } from './doctor-de.ts';
import { language } from './text.ts';

const report: DoctorText = { sections: {}, checks: {} };
const words = language === 'de' ? (await import('./doctor-de.ts')).doctor : report;

/** A section of the report by its name in the reader's language. */
export const toSectionName = (section: string): string => words.sections[section] ?? section;

/**
 * What a check requires, and what to do where it is not so, in the reader's language.
 * @returns the words of the report for a check that is unknown here
 */
export function toCheckWords({ id, title, mend }: { id: string; title: string; mend: string | null }) {
  const [code = '', origin = ''] = id.split(' ');
  const known = words.checks[code];
  if (!known) return { title, mend };
  return { title: known.title.replace('{origin}', origin.replace(/^https?:\/\//, '')), mend: mend && known.help };
}
