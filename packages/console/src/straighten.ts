/** A sentence without characters that would turn the rest of it around, such as from the name of a file (UAX #9, 2). */
export const straighten = (sentence: string): string => sentence.replace(/[\u202a-\u202e\u2066-\u2069]/g, '');
