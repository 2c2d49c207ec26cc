/** A name without what nobody sees: how accents are composed, spaces side by side, and characters of no width, which may turn the text around. */
export const toVisible = (name: string): string =>
  name
    .normalize('NFC')
    .replace(/\p{Default_Ignorable_Code_Point}/gu, '')
    .replace(/\s+/g, ' ')
    .trim();

/** Whether somebody has typed a name as they see it. */
export const isTyped = (typed: string, name: string): boolean => toVisible(typed) === toVisible(name);
