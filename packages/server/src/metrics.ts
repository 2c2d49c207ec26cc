import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { Database } from './db/open.ts';
import type { Answered } from './deps.ts';

export interface Metrics {
  registry: Registry;
  observe(answer: Answered): void;
}

/** Prometheus metrics of one service. Routes are named by their operation, never by what a client sent. */
export function createMetrics(db: Database): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const requests = new Counter({
    name: 'cadiz_http_requests_total',
    help: 'Requests answered, by operation, method and status.',
    labelNames: ['operation', 'method', 'status'] as const,
    registers: [registry],
  });
  const durations = new Histogram({
    name: 'cadiz_http_request_duration_seconds',
    help: 'Time from the first handler to the answer, by operation.',
    labelNames: ['operation'] as const,
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers: [registry],
  });
  new Gauge({
    name: 'cadiz_database_connections',
    help: 'Connections of the pool, by state.',
    labelNames: ['state'] as const,
    registers: [registry],
    collect() {
      this.set({ state: 'open' }, db.pool.totalCount);
      this.set({ state: 'idle' }, db.pool.idleCount);
      this.set({ state: 'waiting' }, db.pool.waitingCount);
    },
  });
  return {
    registry,
    observe({ operation, method, status, started }) {
      requests.inc({ operation, method, status });
      durations.observe({ operation }, (performance.now() - started) / 1000);
    },
  };
}
