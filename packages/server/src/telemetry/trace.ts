import { randomBytes } from 'node:crypto';
import {
  type Attributes,
  type Context,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  type Tracer,
  trace as traces,
} from '@opentelemetry/api';
import { type TraceContext, toTraceparent } from './trace-context.ts';

/**
 * The trace that something belongs to, with its own span in it. It is passed on by hand, as `deps.trace`: what would
 * carry it along unseen costs every request, also those without a trace (decision 0083).
 */
export interface Trace {
  readonly traceId: string;
  /** Whether spans are made. If not, only the id is passed on. */
  readonly isRecorded: boolean;
  /** The header `traceparent` for a request that is part of this span. It says that the trace is sampled only if it is recorded here. */
  traceparent(): string;
  /** Does a part of the work in a span of its own, which ends with it. Without recording, only the work is done. */
  run<T>(
    name: string,
    attributes: Attributes,
    kind: 'internal' | 'client',
    work: (part: Trace) => Promise<T>,
  ): Promise<T>;
  /** Begins a part that lasts until `end`. */
  begin(name: string, attributes: Attributes): OpenTrace;
  /** Adds what is only known later. */
  set(attributes: Attributes): void;
}

/** A span that whoever began it must end, once. */
export interface OpenTrace extends Trace {
  /** @param error what it failed with; only its kind is kept, since messages may have names of files and people */
  end(error?: unknown): void;
}

/** A trace that somebody else has begun, and that is not recorded here. */
export function passOn({ traceId }: TraceContext): OpenTrace {
  return new PassedOn(traceId);
}

class PassedOn implements OpenTrace {
  readonly isRecorded = false;
  readonly traceId: string;

  constructor(traceId: string) {
    this.traceId = traceId;
  }

  traceparent(): string {
    // One that is not sampled any more needs a span id of its own (Trace Context §3.4, "update sampled").
    return toTraceparent({ traceId: this.traceId, spanId: randomBytes(8).toString('hex'), isSampled: false });
  }

  run<T>(_name: string, _attributes: Attributes, _kind: string, work: (part: Trace) => Promise<T>): Promise<T> {
    return work(this);
  }

  begin(): OpenTrace {
    return this;
  }

  set(): void {}

  end(): void {}
}

const kinds = { internal: SpanKind.INTERNAL, client: SpanKind.CLIENT, server: SpanKind.SERVER };

/** Begins a recorded trace, or continues one that somebody else has begun. */
export function beginTrace(
  tracer: Tracer,
  name: string,
  attributes: Attributes,
  kind: 'server' | 'internal',
  from: TraceContext | undefined,
): OpenTrace {
  const parent = from
    ? traces.setSpanContext(ROOT_CONTEXT, {
        traceId: from.traceId,
        spanId: from.spanId,
        traceFlags: from.isSampled ? TraceFlags.SAMPLED : TraceFlags.NONE,
        isRemote: true,
      })
    : ROOT_CONTEXT;
  return new Recorded(tracer, parent, name, attributes, kind);
}

class Recorded implements OpenTrace {
  readonly isRecorded = true;
  readonly traceId: string;
  readonly #tracer: Tracer;
  readonly #span: Span;
  readonly #context: Context;

  constructor(tracer: Tracer, parent: Context, name: string, attributes: Attributes, kind: keyof typeof kinds) {
    this.#tracer = tracer;
    this.#span = tracer.startSpan(name, { attributes, kind: kinds[kind] }, parent);
    this.#context = traces.setSpan(parent, this.#span);
    this.traceId = this.#span.spanContext().traceId;
  }

  traceparent(): string {
    return toTraceparent({ ...this.#span.spanContext(), isSampled: true });
  }

  async run<T>(
    name: string,
    attributes: Attributes,
    kind: 'internal' | 'client',
    work: (part: Trace) => Promise<T>,
  ): Promise<T> {
    const part = new Recorded(this.#tracer, this.#context, name, attributes, kind);
    try {
      const result = await work(part);
      part.end();
      return result;
    } catch (error) {
      part.end(error);
      throw error;
    }
  }

  begin(name: string, attributes: Attributes): OpenTrace {
    return new Recorded(this.#tracer, this.#context, name, attributes, 'internal');
  }

  set(attributes: Attributes): void {
    this.#span.setAttributes(attributes);
  }

  end(error?: unknown): void {
    if (error !== undefined) {
      this.#span.setAttribute('error.type', toErrorType(error));
      this.#span.setStatus({ code: SpanStatusCode.ERROR });
    }
    this.#span.end();
  }
}

/** The code of an error, such as `store_unavailable`, `23505` or `ECONNREFUSED`, or else its class. */
function toErrorType(error: unknown): string {
  if (!(error instanceof Error)) return typeof error;
  const { code } = error as NodeJS.ErrnoException;
  return typeof code === 'string' ? code : error.name;
}
