/** Widens literal types, so that another language may say something else. */
export type Widen<T> = T extends string
  ? string
  : T extends (...args: infer A) => string
    ? (...args: A) => string
    : T extends readonly string[]
      ? readonly string[]
      : { [K in keyof T]: Widen<T[K]> };
