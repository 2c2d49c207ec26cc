/** Tokens by page, since a screen may be drawn twice before it is shown. */
const taken = new Map<string, string>();

/** The token in the fragment, which no server and no Referer gets to see; it leaves the address bar and the history. */
export function takeToken(): string {
  const { hash, pathname } = location;
  if (hash.length > 1) {
    taken.set(pathname, hash.slice(1));
    history.replaceState(history.state, '', pathname);
  }
  return taken.get(pathname) ?? '';
}
