/** What this browser does not keep, because of its settings or for want of room. It lasts as long as the page. */
const unkept = new Map<string, string>();

/** What `keep` has kept under this name. */
export function readKept(name: string): string | undefined {
  try {
    return localStorage.getItem(name) ?? unkept.get(name);
  } catch {
    return unkept.get(name);
  }
}

/** Keeps a choice in this browser; `undefined` forgets it. */
export function keep(name: string, value: string | undefined): void {
  unkept.delete(name);
  try {
    if (value === undefined) localStorage.removeItem(name);
    else localStorage.setItem(name, value);
  } catch {
    if (value !== undefined) unkept.set(name, value);
  }
}

/** Whether the browser is set to keep nothing of this site, not even cookies. Chromium shows that only by its storage. */
export function keepsNothing(): boolean {
  try {
    return !navigator.cookieEnabled || localStorage.length < 0;
  } catch {
    return true;
  }
}
