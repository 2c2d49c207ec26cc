/** What a browser keeps for the service between two requests. The edge reads and sets it as cookies. */
export interface Kept {
  /** The token of its session. */
  session: string;
  /** Names a sign-in that waits for its second factor. */
  challenge: string;
  /** Names a question that a passkey is to answer. */
  question: string;
  /** A sign-in with the OpenID Connect issuer that is under way, sealed. */
  flow: string;
  /** Makes this a known device of an account. */
  device: string;
}

/** What a browser brings along besides the request. */
export interface Browser {
  /** Signatures have been checked; whether anything is still valid has not. */
  kept: { readonly [name in keyof Kept]?: Kept[name] | undefined };
  /** What it calls itself, at most 300 characters. */
  userAgent: string | undefined;
  /** The token of an invitation that a new account is made by. */
  invitation: string | undefined;
  /** Allows making the first account. */
  setupToken: string | undefined;
  /** Whether the request comes from the machine that the service runs on, under a name of that machine, and through no proxy. */
  isOnThisMachine: boolean;
}

/** An answer, and what the browser keeps from now on. Null means that it forgets something; what is not named stays. */
export interface Keeping<T> {
  answer: T;
  keep: KeptChanges;
}
export type KeptChanges = { [name in keyof Kept]?: Kept[name] | null | undefined };

/** A caller with their browser. */
export type InBrowser<C> = C & { browser: Browser };
