import http from 'node:http';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';

/** Serves the metrics. One that cannot be collected makes the scrape a 500, which Prometheus tells, and not a silence. */
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
