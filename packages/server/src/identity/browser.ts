/** What a browser keeps for the service between two requests. The HTTP edge reads and sets it as cookies. */
export interface Kept {
  /** The token of its session. */
  session: string;
  /** Names a sign-in that waits for its second factor. */
  challenge: string;
  /** Names a question for a passkey. */
  question: string;
  /** A sign-in with the OpenID Connect issuer that is under way, sealed. */
  flow: string;
  /** Makes this a known device of an account. */
  device: string;
}

/** What a browser sends along with the request. */
export interface Browser {
  /** Signatures have been checked, but not whether anything is still valid. */
  kept: { readonly [name in keyof Kept]?: Kept[name] | undefined };
  /** Its `User-Agent`, at most 300 characters. */
  userAgent: string | undefined;
  /** The token of the invitation with which a new account is created. */
  invitation: string | undefined;
  /** Permits creating the first account. */
  setupToken: string | undefined;
  /**
   * Whether the request comes from the machine that the service runs on, under a name of that machine, and through no
   * proxy.
   */
  isOnThisMachine: boolean;
}

/** An answer, and what the browser is to keep from now on. Null makes it forget something; anything not named stays. */
export interface Keeping<T> {
  answer: T;
  keep: KeptChanges;
}
export type KeptChanges = { [name in keyof Kept]?: Kept[name] | null | undefined };

/** A caller with their browser. */
export type InBrowser<C> = C & { browser: Browser };
