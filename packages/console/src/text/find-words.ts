/**
 * The words for a field, by the path that the service names: an entry of a list or map has those for any of its entries
 * (`origins.*`), or those of the whole.
 */
export function findWords(fields: Readonly<Record<string, string>>, path: string): string | undefined {
  const [root = '', , ...rest] = path.split('.');
  const paths = [path, [root, '*', ...rest].join('.'), `${root}.*`, root];
  return paths.map((one) => fields[one]).find((words) => words !== undefined);
}
