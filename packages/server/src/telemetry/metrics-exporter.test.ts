import { serve } from '@cadiz/http-server';
import { pino } from 'pino';
import { Gauge, Registry } from 'prom-client';
import { expect, onTestFinished, test } from 'vitest';
import { createMetricsExporter } from './metrics-exporter.ts';

test('a metric that cannot be collected is a 500 and a line in the log, and the next scrape is well again', async () => {
  const lines: string[] = [];
  const log = pino({ errorKey: 'error' }, { write: (line) => void lines.push(line) });
  let broken = true;
  const registry = new Registry();
  new Gauge({
    name: 'fragile',
    help: 'May break.',
    registers: [registry],
    collect() {
      if (broken) throw new Error('connect ECONNREFUSED db.internal:5432');
      this.set(7);
    },
  });
  const { port, close } = await serve(createMetricsExporter(registry, log), '127.0.0.1', 0);
  onTestFinished(() => close(0));
  const scrape = () => fetch(`http://127.0.0.1:${port}/metrics`, { signal: AbortSignal.timeout(10_000) });

  const refused = await scrape();
  expect(refused.status).toBe(500);
  expect(await refused.text()).toBe('The metrics could not be collected.\n');
  expect(lines.join('')).toContain('db.internal:5432');

  broken = false;
  const answer = await scrape();
  expect([answer.status, answer.headers.get('content-type')]).toEqual([200, registry.contentType]);
  expect(await answer.text()).toContain('fragile 7');
});
