/** The name with a number before its ending, as people know it: `photo (2).jpg`. */
export function withNumber(name: string, number: number): string {
  const dot = name.lastIndexOf('.');
  const end = dot > 0 ? dot : name.length;
  return `${name.slice(0, end)} (${number})${name.slice(end)}`;
}

/** A name for a file of the archive's own, from what may be a project's label. */
export function toArchiveName(name: string): string {
  const plain = name.replaceAll(/[/\\]/g, '_');
  return /\.zip$/i.test(plain) ? plain : `${plain}.zip`;
}
