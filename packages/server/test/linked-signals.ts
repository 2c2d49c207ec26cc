/**
 * How many signals a signal remembers that were made of it with `AbortSignal.any`, or that it was made of. Node 20 never forgets
 * the former while the signal itself lives (nodejs/node#54614).
 */
export function countLinkedSignals(signal: AbortSignal): number {
  const kept = (name: string): number => {
    const symbol = Object.getOwnPropertySymbols(signal).find(({ description }) => description === name);
    const set: { size: number } | undefined = symbol && Reflect.get(signal, symbol);
    return set?.size ?? 0;
  };
  return kept('kDependantSignals') + kept('kSourceSignals');
}
