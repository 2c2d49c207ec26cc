import http from 'node:http';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';

/** Serves the metrics. If one cannot be collected, the scrape is answered with 500, which Prometheus reports. */
export function createMetricsExporter(registry: Registry, log: Logger): http.Server {
  return http.createServer(async (_request, response) => {
    try {
      const text = await registry.metrics();
      response.setHeader('Content-Type', registry.contentType).end(text);
    } catch (error) {
      log.error({ error }, 'The metrics could not be collected');
      response.writeHead(500, { 'Content-Type': 'text/plain' }).end('The metrics could not be collected.\n');
    }
  });
}
