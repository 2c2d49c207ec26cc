/**
 * Copies a text. Browsers offer their clipboard to pages of https and of this machine alone, so that elsewhere the older
 * way is taken.
 *
 * @param value or a promise of it: Safari copies nothing after a click that was not promised in it
 * @throws if the browser refuses, or why there is no text
 */
export async function copyText(value: string | Promise<string>): Promise<void> {
  if (navigator.clipboard && typeof value !== 'string' && 'ClipboardItem' in window) {
    const content = value.then((text) => new Blob([text], { type: 'text/plain' }));
    return navigator.clipboard.write([new ClipboardItem({ 'text/plain': content })]);
  }
  const text = await value;
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const field = document.createElement('textarea');
  field.value = text;
  // Within what has the focus: a dialog takes it back from elsewhere.
  (document.activeElement?.parentElement ?? document.body).append(field);
  field.select();
  const isCopied = document.execCommand('copy');
  field.remove();
  if (!isCopied) throw new Error('The browser refused to copy.');
}
