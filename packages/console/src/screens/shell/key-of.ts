/**
 * What a key is called by shortcuts: a letter as the keyboard has it, small without Shift, also while Caps Lock is on or where
 * the keyboard writes other letters than Latin ones, such as Cyrillic; any other key as the browser names it.
 */
export function keyOf({ key, code, shiftKey }: Pick<KeyboardEvent, 'key' | 'code' | 'shiftKey'>): string {
  const isForeign = /^(?!\p{Script=Latin})\p{L}$/u.test(key);
  const letter = isForeign ? code.replace(/^Key(?=[A-Z]$)/, '') : key;
  if (!/^[a-z]$/i.test(letter)) return key;
  return shiftKey ? letter.toUpperCase() : letter.toLowerCase();
}
