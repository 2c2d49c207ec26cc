import { setTimeout as delay } from 'node:timers/promises';
import type { SpanExporter } from '@opentelemetry/sdk-trace-base';
import type { Logger } from 'pino';
import { createTracing, type Tracing, type TracingSettings, untraced } from './tracing.ts';
import { version } from './version.ts';

const closeMilliseconds = 3_000;

export interface OpenTracing {
  tracing: Tracing;
  /** Sends what has not been sent yet, within three seconds. Never rejects. */
  close(): Promise<void>;
}

/**
 * Loads the OpenTelemetry SDK, and sends spans to a collector in the background: OTLP over HTTP, as JSON. Its other
 * variables, such as OTEL_SERVICE_NAME and OTEL_EXPORTER_OTLP_HEADERS, are the SDK's own. Without settings, nothing is
 * loaded. That the SDK is not installed is a warning: the variable may be meant for other programs.
 */
export async function openTracing(settings: TracingSettings | undefined, log: Logger): Promise<OpenTracing> {
  const sdk = settings && (await loadSdk(log));
  if (!sdk) return { tracing: untraced, close: async () => undefined };
  const { BasicTracerProvider, BatchSpanProcessor, AlwaysOnSampler, OTLPTraceExporter, resources } = sdk;
  const exporter = new OTLPTraceExporter({ url: `${settings.endpoint.replace(/\/$/, '')}/v1/traces` });
  const named = resources.resourceFromAttributes({ 'service.name': 'cadiz', 'service.version': version });
  const provider = new BasicTracerProvider({
    // What the environment says about the service takes precedence.
    resource: named.merge(resources.detectResources({ detectors: [resources.envDetector] })),
    // `createTracing` has decided before: a span is only begun if it is to be sent.
    sampler: new AlwaysOnSampler(),
    spanProcessors: [new BatchSpanProcessor(logChanges(exporter, log))],
  });
  return {
    tracing: createTracing(provider.getTracer('cadiz', version), settings),
    async close() {
      const ended = provider.shutdown().catch((error: unknown) => log.warn({ error }, 'Could not send the last spans'));
      // The exporter tries again for longer than whatever stops the service may wait.
      const enough = new AbortController();
      const late = delay(closeMilliseconds, true, enough).catch(() => false);
      const isLate = await Promise.race([ended.then(() => false), late]);
      enough.abort();
      if (isLate) log.warn('Could not send spans before the end: the collector does not answer');
    },
  };
}

async function loadSdk(log: Logger) {
  try {
    const [base, exporter, resources] = await Promise.all([
      import('@opentelemetry/sdk-trace-base'),
      import('@opentelemetry/exporter-trace-otlp-http'),
      import('@opentelemetry/resources'),
    ]);
    return { ...base, ...exporter, resources };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error;
    log.warn(
      { error },
      'No traces are sent: OTEL_EXPORTER_OTLP_ENDPOINT is set, but the OpenTelemetry SDK is not installed',
    );
    return undefined;
  }
}

/** Logs when spans can no longer be sent, and when they can again. */
function logChanges(exporter: SpanExporter, log: Logger): SpanExporter {
  let isFailing = false;
  return {
    export(spans, done) {
      exporter.export(spans, (result) => {
        const fails = result.error !== undefined;
        if (fails && !isFailing)
          log.warn({ error: result.error }, 'Could not send spans; those that cannot be sent are dropped');
        if (!fails && isFailing) log.info('Spans are sent again');
        isFailing = fails;
        done(result);
      });
    },
    shutdown: () => exporter.shutdown(),
    forceFlush: async () => exporter.forceFlush?.(),
  };
}
