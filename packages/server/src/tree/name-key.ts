/**
 * Two names with the same key are one name to a person: upper and lower case, composed and decomposed. By way of lower
 * case into upper case, because only so `ς` meets `σ`, and `ß` meets both `SS` and `ẞ`.
 */
export function toNameKey(name: string): string {
  return name.normalize('NFC').toLowerCase().toUpperCase().normalize('NFC');
}
