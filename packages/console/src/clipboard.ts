/**
 * Copies a text. Browsers offer their clipboard to pages of https and of this machine alone, so that elsewhere the older
 * way is taken.
 *
 * @throws if the browser refuses
 */
export async function copyText(value: string): Promise<void> {
  if (navigator.clipboard) return navigator.clipboard.writeText(value);
  const field = document.createElement('textarea');
  field.value = value;
  // Within what has the focus: a dialog takes it back from elsewhere.
  (document.activeElement?.parentElement ?? document.body).append(field);
  field.select();
  const isCopied = document.execCommand('copy');
  field.remove();
  if (!isCopied) throw new Error('The browser refused to copy.');
}
