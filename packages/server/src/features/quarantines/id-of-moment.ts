/** A bound below every id (a UUID v7) created at this moment or later, and above all earlier ones. */
export function idOfMoment(unixMilliseconds: number): string {
  const hex = Math.max(0, unixMilliseconds).toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000`;
}
