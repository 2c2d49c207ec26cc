import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { openTestDatabase } from '../../test/database.ts';
import { createMetrics } from './metrics.ts';

test('what cannot be read from the database is left out, so that an alert can tell', async () => {
  const db = await openTestDatabase();
  onTestFinished(() => db.close());
  let isDown = false;
  const query = () => (isDown ? Promise.reject(new Error('down')) : db.pool.query('select 7 as value, 1 as label'));
  const pool = new Proxy(db.pool, { get: (of, name) => (name === 'query' ? query : Reflect.get(of, name)) });
  const { registry } = createMetrics({ ...db, pool }, {}, pino({ level: 'silent' }));
  const read = async () => (await registry.metrics()).match(/^cadiz_(?:sweep_overdue_seconds|work_dead).*$/gm);

  expect(await read()).toEqual(['cadiz_sweep_overdue_seconds 7', 'cadiz_work_dead{kind="1"} 7']);
  isDown = true;
  expect(await read()).toBeNull();
  isDown = false;
  expect(await read()).toHaveLength(2);
});
