/** Shows a text that is cut as a tooltip while the pointer is on it: file names, and anything with the class `clip`. */
export function showCutText(): void {
  document.addEventListener('pointerover', ({ target }) => {
    const element = target instanceof Element ? target.closest('.clip, .name') : null;
    if (!(element instanceof HTMLElement)) return;
    // Of a name, the stem is cut.
    if ([element, ...element.children].some(isCut)) element.title = element.textContent;
    else element.removeAttribute('title');
  });
}

const isCut = ({ scrollWidth, clientWidth }: Element): boolean => scrollWidth > clientWidth;
