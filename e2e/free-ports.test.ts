import { expect, test, vi } from 'vitest';
import { freePorts } from './service.ts';

test('a port is given away once, also while nobody listens on it', async () => {
  const [port = 0] = await freePorts(1);
  const random = vi.spyOn(Math, 'random').mockReturnValueOnce((port - 11_000) / 21_000);
  const [other] = await freePorts(1);
  random.mockRestore();
  expect(other).not.toBe(port);
});
