/** More grams narrow a search no further, and each costs an index look-up. */
const maxGrams = 8;
/** Adjacent grams that do not overlap take a quarter of the time of all grams (measured). */
const minStep = 3;

/** The character before the gram at the beginning of a name, as in `name_grams`. */
const beginning = '\u0001';

/**
 * What every name key that contains `part` has in the index of `name_grams`, as a tsquery. One or two characters match
 * the beginning of a gram.
 * @param where `inside` leaves out names that have `part` only at their beginning
 */
export function toGramQuery(projectId: string, part: string, where: 'anywhere' | 'inside'): string {
  const prefix = projectId.slice(-12);
  const characters = [...part];
  const first = characters.slice(0, 3).join('');
  const end = characters.length < 3 ? ':*' : '';
  const beginnings = where === 'anywhere' ? ['', beginning] : [''];
  const asFirst = beginnings.map((before) => quote(prefix + before + first) + end).join(' | ');
  const grams = new Set<string>();
  const last = characters.length - 3;
  const step = Math.max(minStep, last / (maxGrams - 1));
  for (let place = step; place < last; place += step) grams.add(gramAt(characters, Math.floor(place)));
  if (last > 0) grams.add(gramAt(characters, last));
  return [`(${asFirst})`, ...[...grams].map((gram) => quote(prefix + gram))].join(' & ');
}

function gramAt(characters: string[], place: number): string {
  return characters.slice(place, place + 3).join('');
}

/** @see https://www.postgresql.org/docs/current/datatype-textsearch.html */
function quote(lexeme: string): string {
  return `'${lexeme.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`;
}
