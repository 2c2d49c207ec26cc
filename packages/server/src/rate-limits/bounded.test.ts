import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { createAdmission, createWindows } from './bounded.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }));
afterEach(() => void vi.useRealTimers());

describe('windows', () => {
  test('begin with the first that is counted, and start anew when they are over', () => {
    const windows = createWindows(10, 60);
    expect(windows.get('a')).toBeUndefined();
    windows.add('a', 1);
    vi.advanceTimersByTime(59_999);
    expect(windows.add('a', 2).used).toBe(3);
    vi.advanceTimersByTime(1);
    expect(windows.get('a')).toBeUndefined();
    expect(windows.add('a', 1).used).toBe(1);
  });

  test('never hold less than nothing', () => {
    const windows = createWindows(10, 60);
    expect(windows.add('a', -5).used).toBe(0);
    expect(windows.add('a', 1).used).toBe(1);
  });

  test('are of so many subjects, and forget what was counted longest ago', () => {
    const windows = createWindows(3, 60);
    for (const subject of ['a', 'b', 'c', 'a', 'd']) windows.add(subject, 1);
    expect(['a', 'b', 'c', 'd'].map((subject) => windows.get(subject)?.used)).toEqual([2, undefined, 1, 1]);
  });
});

test('admission lets so many names in, again and again, and others in the next window', () => {
  const admit = createAdmission(2, 60);
  expect(['a', 'b', 'c', 'a', 'c'].map(admit)).toEqual([true, true, false, true, false]);
  vi.advanceTimersByTime(60_000);
  expect(['c', 'd', 'a'].map(admit)).toEqual([true, true, false]);
});
