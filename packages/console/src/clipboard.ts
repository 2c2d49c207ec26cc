/**
 * Copies a text. Browsers offer their clipboard only to pages on https or on this machine; elsewhere, the older way has
 * to do.
 *
 * @param value or a promise of it: Safari copies nothing after a click that was not promised in it
 * @throws if the browser refuses, or what the promise of the text throws
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
  // Beside the element with the focus: a dialog would take the focus back from anywhere else.
  (document.activeElement?.parentElement ?? document.body).append(field);
  field.select();
  const isCopied = document.execCommand('copy');
  field.remove();
  if (!isCopied) throw new Error('The browser refused to copy.');
}
