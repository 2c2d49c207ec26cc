/** What the header `traceparent` says about the trace that a request belongs to. */
export interface TraceContext {
  /** 32 lower-case hexadecimal digits. */
  traceId: string;
  /** The span of the sender, 16 lower-case hexadecimal digits. */
  spanId: string;
  /** Whether the sender records this trace. Anybody may claim that. */
  isSampled: boolean;
}

const headerLength = 55;
const pattern = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-[0-9a-f]([0-9a-f])$/;

/**
 * Reads a `traceparent` of version 00. Anything else is as good as none: another version or length, capitals, an id of
 * zeros, two headers.
 * @see https://www.w3.org/TR/trace-context/#traceparent-header
 */
export function parseTraceparent(header: string | undefined): TraceContext | undefined {
  if (header === undefined || header.length !== headerLength) return undefined;
  const [, traceId, spanId, flags] = pattern.exec(header) ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined;
  // The lowest bit; the others are for later versions.
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

/** The header for a request to another service. */
export function toTraceparent({ traceId, spanId, isSampled }: TraceContext): string {
  return `00-${traceId}-${spanId}-${isSampled ? '01' : '00'}`;
}
