/**
 * Two names with the same key look the same to a person: upper and lower case, composed and decomposed. Converts to
 * lower case and then to upper case, the only order in which `ς` meets `σ`, and `ß` meets both `SS` and `ẞ`.
 */
export function toNameKey(name: string): string {
  return name.normalize('NFC').toLowerCase().toUpperCase().normalize('NFC');
}
