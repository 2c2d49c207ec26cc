const toVisible = (name: string): string => name.normalize('NFC').replace(/\s+/g, ' ').trim();

/** Whether somebody has typed a name as they see it: neither spaces side by side nor how accents are composed can be seen. */
export const isTyped = (typed: string, name: string): boolean => toVisible(typed) === toVisible(name);
