import type { Attributes, Tracer } from '@opentelemetry/api';
import { beginTrace, type OpenTrace, passOn } from './trace.ts';
import { parseTraceparent } from './trace-context.ts';

export interface TracingSettings {
  /** The base URL of an OpenTelemetry collector. */
  endpoint: string;
  /** Which part of requests and jobs is recorded, whatever they say about it: 0 to 1. */
  ratio: number;
  /** How many requests a second are recorded because their sender records them. */
  incomingPerSecond: number;
}

/** Decides what is recorded. */
export interface Tracing {
  /**
   * The trace of a request; undefined if it belongs to none and is not recorded.
   * @param traceparent the header, as it was sent
   */
  ofRequest(name: string, traceparent: string | undefined, attributes: () => Attributes): OpenTrace | undefined;
  /** The trace of what the service does by itself; undefined if it is not recorded. */
  ofOwnWork(name: string, attributes: Attributes): OpenTrace | undefined;
}

/** Without a tracer nothing is recorded, and the ids of others are passed on. */
export const untraced: Tracing = createTracing(undefined, { ratio: 0, incomingPerSecond: 0 });

/**
 * @param random 0 to 1, without 1
 * @param now milliseconds of a clock that never goes back
 */
export function createTracing(
  tracer: Tracer | undefined,
  { ratio, incomingPerSecond }: Pick<TracingSettings, 'ratio' | 'incomingPerSecond'>,
  random: () => number = Math.random,
  now: () => number = () => performance.now(),
): Tracing {
  const takeIncoming = createRate(incomingPerSecond, now);
  const isChosen = () => ratio > 0 && random() < ratio;
  return {
    ofRequest(name, traceparent, attributes) {
      const from = traceparent === undefined ? undefined : parseTraceparent(traceparent);
      if (tracer && (isChosen() || (from?.isSampled && takeIncoming()))) {
        return beginTrace(tracer, name, attributes(), 'server', from);
      }
      return from && passOn(from);
    },
    ofOwnWork(name, attributes) {
      return tracer && isChosen() ? beginTrace(tracer, name, attributes, 'internal', undefined) : undefined;
    },
  };
}

/** A bucket of tokens: this many a second, and as many at once. */
function createRate(perSecond: number, now: () => number): () => boolean {
  let tokens = perSecond;
  let filledAt = now();
  return () => {
    const at = now();
    tokens = Math.min(perSecond, tokens + ((at - filledAt) / 1000) * perSecond);
    filledAt = at;
    if (tokens < 1) return false;
    tokens -= 1;
    return true;
  };
}
