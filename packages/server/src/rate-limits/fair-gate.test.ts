import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createFairGate, type FairGateSettings, type Parties } from './fair-gate.ts';

const never = () => new AbortController().signal;
const wide: FairGateSettings = { size: 2, share: 2, mostWaiting: 100, mostWaitingEach: 100 };

/** A gate, the names inside it in the order of arrival, and a way for each to leave. */
function openGate(settings: Partial<FairGateSettings> = {}) {
  const gate = createFairGate({ ...wide, ...settings });
  const inside: string[] = [];
  const leavings: Record<string, () => void> = {};
  return {
    gate,
    inside,
    leavings,
    /** @param name such as `ada 1`: the first word is the party */
    async enter(name: string, signal = never(), ...others: string[]) {
      const left = await gate.enter([name.split(' ')[0] ?? '', ...others], signal);
      if (!left) return 'refused';
      inside.push(name);
      leavings[name] = left;
      return 'inside';
    },
    async leave(name: string) {
      inside.splice(inside.indexOf(name), 1);
      leavings[name]?.();
      await settle();
    },
  };
}

/** Resolves once everything that is ready to run has run. */
const settle = () => new Promise((resolve) => setImmediate(resolve));

describe('a gate', () => {
  test('lets so many in at once, and the others when there is room', async () => {
    const { enter, leave, inside } = openGate();
    for (const name of ['ada 1', 'ada 2', 'ada 3']) void enter(name);
    await settle();
    expect(inside).toEqual(['ada 1', 'ada 2']);
    await leave('ada 1');
    expect(inside).toEqual(['ada 2', 'ada 3']);
  });

  test('can change its size, which counts from the next who enters or leaves', async () => {
    let size = 1;
    const { enter, leave, inside } = openGate({ size: () => size });
    for (const name of ['ada 1', 'ada 2', 'ada 3', 'ada 4']) void enter(name);
    await settle();
    expect(inside).toEqual(['ada 1']);
    size = 2;
    await leave('ada 1');
    expect(inside).toEqual(['ada 2', 'ada 3']);
    size = 1;
    await leave('ada 2');
    expect(inside).toEqual(['ada 3']);
    await leave('ada 3');
    expect(inside).toEqual(['ada 4']);
  });

  test('lets nobody who may have a share hold all of it', async () => {
    const { enter, leave, inside, gate } = openGate({ size: 4, share: 2 });
    for (const name of ['ada 1', 'ada 2', 'ada 3', 'bob 1']) void enter(name);
    await settle();
    expect(inside).toEqual(['ada 1', 'ada 2', 'bob 1']);
    expect([gate.isFullFor(['ada']), gate.isFullFor(['eve'])]).toEqual([false, false]);
    void enter('eve 1');
    await settle();
    expect([gate.isFullFor(['ada']), gate.isFullFor(['bob']), gate.isFullFor(['eve'])]).toEqual([false, true, true]);
    await leave('ada 2');
    expect(inside).toEqual(['ada 1', 'bob 1', 'eve 1', 'ada 3']);
  });

  test('counts for every party', async () => {
    const { enter, inside } = openGate({ size: 4, share: 2 });
    for (const name of ['ada 1', 'bob 1', 'eve 1']) void enter(name, never(), 'project');
    await settle();
    expect(inside).toEqual(['ada 1', 'bob 1']);
  });

  test('can have a share for each place among the parties', async () => {
    const { enter, inside } = openGate({ size: 4, share: [3, 1], mostWaitingEach: [100, 1] });
    for (const name of ['ada 1', 'ada 2']) void enter(name, never(), 'project');
    for (const name of ['ada 3', 'ada 4', 'ada 5']) void enter(name, never(), `project of ${name}`);
    await settle();
    expect(inside).toEqual(['ada 1', 'ada 3', 'ada 4']);
    expect(await enter('bob 1', never(), 'project')).toBe('refused');
  });

  test('lets every party take turns: neither many accounts of a project nor many projects of an account get more', async () => {
    const { enter, leave, inside } = openGate({ size: 1, share: 1 });
    const all = [
      ...['ada 1', 'bob 1', 'eve 1', 'kim 1'].map((name) => enter(name, never(), 'noisy')),
      enter('zoe 1', never(), 'quiet'),
      ...[1, 2, 3].map((n) => enter(`liv ${n}`, never(), `project ${n}`)),
      enter('mia 1', never(), 'mine'),
      enter('kim 2', never(), 'quiet'),
    ];
    await settle();
    const order: string[] = [];
    for (let [name] = inside; name; [name] = inside) {
      order.push(name);
      await leave(name);
    }
    await Promise.all(all);
    expect(order).toEqual(['ada 1', 'zoe 1', 'liv 1', 'mia 1', 'bob 1', 'kim 2', 'liv 2', 'eve 1', 'liv 3', 'kim 1']);
  });

  test('lets those who wait take turns, however many requests each of them has', async () => {
    const { enter, leave, inside } = openGate({ size: 1 });
    for (const name of ['ada 1', 'ada 2', 'ada 3', 'ada 4', 'bob 1', 'eve 1', 'bob 2']) void enter(name);
    await settle();
    const order: string[] = [];
    for (let [name] = inside; name; [name] = inside) {
      order.push(name);
      await leave(name);
    }
    expect(order).toEqual(['ada 1', 'bob 1', 'eve 1', 'ada 2', 'bob 2', 'ada 3', 'ada 4']);
  });

  test('does not let newcomers overtake those who have waited longer', async () => {
    const { enter, leave, inside } = openGate({ size: 1 });
    for (const name of ['ada 1', 'ada 2', 'bob 1']) void enter(name);
    await settle();
    const order: string[] = [];
    for (let [name] = inside; name; [name] = inside) {
      order.push(name);
      if (order.length < 5) void enter(`new${order.length} 1`);
      await settle();
      await leave(name);
    }
    expect(order).toEqual(['ada 1', 'bob 1', 'new1 1', 'ada 2', 'new2 1', 'new3 1', 'new4 1']);
  });

  test('lets who arrived first in, of those who were never served, also if somebody of theirs has given up', async () => {
    const { enter, leave, inside } = openGate({ size: 1 });
    await enter('carl 1');
    const gaveUp = new AbortController();
    void enter('ada 1', gaveUp.signal).catch(() => undefined);
    void enter('ben 1');
    void enter('ada 2');
    gaveUp.abort();
    await settle();
    await leave('carl 1');
    expect(inside).toEqual(['ben 1']);
  });

  test('refuses where too many wait, of one party or of all', async () => {
    const { enter } = openGate({ size: 1, mostWaiting: 3, mostWaitingEach: 2 });
    const [, first, second, third] = ['ada 1', 'ada 2', 'ada 3', 'ada 4'].map((name) => enter(name));
    expect(await third).toBe('refused');
    void enter('bob 1');
    expect(await enter('eve 1')).toBe('refused');
    expect(await Promise.race([first, second, 'waiting'])).toBe('waiting');
  });

  test('forgets who gives up, and lets in who leaves twice only once', async () => {
    const { enter, leave, inside, leavings } = openGate({ size: 1, mostWaitingEach: 1 });
    void enter('ada 1');
    const gone = new AbortController();
    const given = enter('bob 1', gone.signal);
    gone.abort(new Error('gone'));
    await expect(given).rejects.toThrow('gone');
    await expect(enter('bob 1', gone.signal)).rejects.toThrow('gone');
    for (const name of ['bob 2', 'eve 1', 'kim 1']) void enter(name);
    const again = leavings['ada 1'];
    await leave('ada 1');
    again?.();
    await settle();
    expect(inside).toEqual(['bob 2']);
  });

  test('never has too many inside, keeps nobody out without need, and lets everybody in at last', async () => {
    const step = fc.record({
      kind: fc.constantFrom('enter', 'leave', 'give up'),
      who: fc.integer({ min: 0, max: 3 }),
      project: fc.integer({ min: 0, max: 2 }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
        const gate = createFairGate({ size: 4, share: 2, mostWaiting: 20, mostWaitingEach: 5 });
        type One = { parties: Parties; gone: AbortController; state: string; leave?: () => void };
        const all: One[] = [];
        const inside = () => all.filter(({ state }) => state === 'inside');
        const isLegal = (parties: Parties) =>
          parties.every((party) => inside().filter((one) => one.parties.includes(party)).length < 2);
        const check = async () => {
          await settle();
          expect(inside().length).toBeLessThanOrEqual(4);
          for (const { parties } of inside()) {
            for (const party of parties)
              expect(inside().filter((one) => one.parties.includes(party)).length).toBeLessThanOrEqual(2);
          }
          const kept = all.filter(({ state, parties }) => state === 'waiting' && isLegal(parties));
          if (inside().length < 4) expect(kept).toEqual([]);
        };
        for (const { kind, who, project } of steps) {
          if (kind === 'enter') {
            const one: One = {
              parties: [`user ${who}`, `project ${project}`],
              gone: new AbortController(),
              state: 'waiting',
            };
            all.push(one);
            void gate.enter(one.parties, one.gone.signal).then(
              (leave) => Object.assign(one, leave ? { state: 'inside', leave } : { state: 'refused' }),
              () => Object.assign(one, { state: 'gone' }),
            );
          } else {
            const from = kind === 'leave' ? inside() : all.filter(({ state }) => state === 'waiting');
            const one = from[who % Math.max(1, from.length)];
            if (one && kind === 'leave') Object.assign(one, { state: 'left' }).leave?.();
            else one?.gone.abort();
          }
          await check();
        }
        while (inside().length > 0) {
          for (const one of inside()) Object.assign(one, { state: 'left' }).leave?.();
          await check();
        }
        expect(all.filter(({ state }) => state === 'waiting')).toEqual([]);
      }),
    );
  });
});
