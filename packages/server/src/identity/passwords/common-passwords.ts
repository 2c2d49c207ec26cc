import { Problem } from '../../problem.ts';

/**
 * How much people add to a common password to make it long enough. With more than that, it is a password of its own.
 */
const longestAddition = 7;
const letter = /\p{L}/u;
const lookalikes: Record<string, string> = {
  '@': 'a',
  '4': 'a',
  '3': 'e',
  '1': 'i',
  '!': 'i',
  '0': 'o',
  $: 's',
  '5': 's',
  '7': 't',
};

let list: Promise<ReadonlySet<string>> | undefined;

/** The 49,000 commonest passwords of zxcvbn's list, read when the first password is chosen. */
function readList(): Promise<ReadonlySet<string>> {
  list ??= import('@zxcvbn-ts/language-common').then(({ dictionary }) => new Set(dictionary['passwords-common']));
  return list;
}

/**
 * Refuses a new password that an attacker would try first: a common one, or the person's own name or address, also with
 * up to seven digits or symbols around it or with lookalikes in it (`P@ssw0rd2026!`); a short text repeated; a run of
 * the alphabet or of digits. A minimum of twelve characters alone does not rule these out (NIST SP 800-63B §3.1.1.2,
 * ASVS 6.2.4).
 * @throws Problem password_too_common
 */
export async function requireUncommonPassword(password: string, about: readonly string[]): Promise<void> {
  const plain = password.normalize('NFKC').toLowerCase();
  const common = await readList();
  const own = new Set(['cadiz', ...about.flatMap(toWords)]);
  const isCommon = (text: string) => common.has(text) || own.has(text);
  if (!isRepeated(plain, isCommon) && !isRow(plain) && !isPadded(plain, isCommon)) return;
  throw new Problem('password_too_common', undefined, {
    issues: [{ path: 'password', message: 'is one of those that are guessed first' }],
  });
}

/** The words that somebody is known by: `Ada Lovelace` and `ada.l@example.com`, and their parts. */
function toWords(text: string): string[] {
  const whole = text.normalize('NFKC').toLowerCase();
  return [whole, whole.replaceAll(' ', ''), ...whole.split(/[\s@.+_-]+/)].filter((word) => word.length > 3);
}

/** Whether a string is common except for some digits and symbols at its ends. */
function isPadded(text: string, isCommon: (text: string) => boolean): boolean {
  const characters = [...text];
  const isAddition = (character: string | undefined) => character !== undefined && !letter.test(character);
  for (let before = 0; before <= longestAddition; before++) {
    for (let after = 0; before + after <= longestAddition && before + after < characters.length; after++) {
      const core = characters.slice(before, characters.length - after);
      const coreText = core.join('');
      if (isCommon(coreText) || isCommon(core.map((character) => lookalikes[character] ?? character).join(''))) {
        return true;
      }
      if (!isAddition(characters[characters.length - 1 - after])) break;
    }
    if (!isAddition(characters[before])) break;
  }
  return false;
}

/** Whether a short or common string is repeated: `abcabcabcabc`, `aaaaaaaaaaaa`, `dragonfly1dragonfly1`. */
function isRepeated(text: string, isCommon: (text: string) => boolean): boolean {
  for (let period = 1; period * 2 <= text.length; period++) {
    const one = text.slice(0, period);
    if (text !== one.repeat(Math.ceil(text.length / period)).slice(0, text.length)) continue;
    return period <= 8 || isPadded(one, isCommon);
  }
  return false;
}

/** Whether every character follows the one before it: `abcdefghijkl`, `987654321098`. */
function isRow(text: string): boolean {
  const steps = [...text].map((character) => character.codePointAt(0) ?? 0);
  const inRow = (by: number) =>
    steps.every((code, at) => {
      const before = steps[at - 1];
      return (
        before === undefined || code - before === by || (isDigit(code) && isDigit(before) && (before - code) * by === 9)
      );
    });
  return inRow(1) || inRow(-1);
}

function isDigit(code: number): boolean {
  return code >= 48 && code <= 57;
}
