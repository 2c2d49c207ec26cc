/** Lets somebody choose files. Only as an answer to a click or a key. @returns none if they choose none */
export function chooseFiles({ isMany = false } = {}): Promise<File[]> {
  const input = document.createElement('input');
  input.type = 'file';
  input.multiple = isMany;
  return new Promise((resolve) => {
    input.onchange = () => resolve([...(input.files ?? [])]);
    input.oncancel = () => resolve([]);
    input.click();
  });
}
