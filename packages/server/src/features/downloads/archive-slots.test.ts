import { expect, test } from 'vitest';
import { Problem } from '../../problem.ts';
import { type ArchiveSlot, createArchiveSlots } from './archive-slots.ts';

const never = () => new AbortController().signal;
const kilobyte = 1024;
const minute = 60_000;

/** Slots with a clock that stands still but for `pass`. */
function open(atOnce: number, longestWait = 0) {
  let at = 0;
  const slots = createArchiveSlots(atOnce, () => at, longestWait);
  return {
    pass: (milliseconds: number) => {
      at += milliseconds;
    },
    take: (userId: string, projectId = `project of ${userId}`, signal = never()) =>
      slots.take({ userId, projectId }, signal),
    /** Gives a client so much at once, and lets it take as long for it as said. */
    give(slot: ArchiveSlot, bytes: number, milliseconds: number) {
      slot.hand(bytes);
      at += milliseconds;
      slot.take();
    },
  };
}

const busy = { code: 'archives_busy', headers: { 'Retry-After': '5' } };

test('half of the slots are for one account, and half for one project', async () => {
  const { take } = open(4);
  const first = await take('ada', 'a');
  await take('ada', 'b');
  await expect(take('ada', 'c')).rejects.toMatchObject(busy);
  await expect(take('ada', 'c')).rejects.toBeInstanceOf(Problem);
  await take('bob', 'a');
  await expect(take('eve', 'a')).rejects.toMatchObject(busy);
  await take('eve', 'e');
  await expect(take('kim')).rejects.toMatchObject(busy);
  first.leave();
  first.leave();
  await take('kim');
  await expect(take('joe')).rejects.toMatchObject(busy);
});

test('who waits gets the slot that is left, and one account does not go before another', async () => {
  const { take } = open(2, minute);
  const [ada, bob] = [await take('ada'), await take('bob')];
  const order: string[] = [];
  const wait = (name: string, project?: string) =>
    take(name, project).then((slot) => {
      order.push(name);
      return slot;
    });
  const [again, eve] = [wait('bob', 'another'), wait('eve')];
  // One for each slot of a share may wait.
  await expect(take('bob', 'a third')).rejects.toMatchObject(busy);
  bob.leave();
  (await eve).leave();
  await again;
  expect(order).toEqual(['eve', 'bob']);
  ada.leave();
});

test('who goes away while waiting waits no more', async () => {
  const { take } = open(1, minute);
  const ada = await take('ada');
  const gone = new AbortController();
  const waiting = take('bob', 'b', gone.signal);
  gone.abort(new Error('gone'));
  await expect(waiting).rejects.toThrow('gone');
  ada.leave();
  await take('eve');
});

test('whoever took least is cut off for others, when that was too little for a minute', async () => {
  const { take, pass } = open(2);
  const [ada, bob] = [await take('ada'), await take('bob')];
  for (const [slot, bytes] of [
    [ada, 100],
    [bob, 50],
  ] as const) {
    slot.hand(bytes * kilobyte);
    slot.take();
    slot.hand(kilobyte);
  }
  pass(minute - 1);
  await expect(take('eve')).rejects.toMatchObject(busy);
  pass(1);
  const eve = await take('eve');
  expect([ada.lost.aborted, bob.lost.aborted]).toEqual([false, true]);
  expect(String(bob.lost.reason)).toContain('too slow');
  // What was taken away is not given back once more.
  bob.leave();
  await take('kim');
  expect(ada.lost.aborted).toBe(true);
  await expect(take('joe')).rejects.toMatchObject(busy);
  expect(eve.lost.aborted).toBe(false);
});

test('nobody is cut off who takes enough, who waits for the store, or while there is room', async () => {
  const { take, give, pass } = open(2);
  const [quick, served] = [await take('ada'), await take('bob')];
  for (let n = 0; n < 60; n += 1) give(quick, 33 * kilobyte, 1000);
  // Nothing was handed to this one for a long time.
  give(served, kilobyte, 0);
  pass(minute);
  await expect(take('eve')).rejects.toMatchObject(busy);
  expect([quick.lost.aborted, served.lost.aborted]).toEqual([false, false]);

  const roomy = open(4);
  const [idle, other] = [await roomy.take('ada', 'a'), await roomy.take('ada', 'b')];
  for (const slot of [idle, other]) slot.hand(kilobyte);
  roomy.pass(2 * minute);
  await roomy.take('bob', 'b');
  await roomy.take('eve', 'e');
  // Full, but no help to her: it is her own share that is used up.
  await expect(roomy.take('ada', 'c')).rejects.toMatchObject(busy);
  expect([idle.lost.aborted, other.lost.aborted]).toEqual([false, false]);
});

test('a client that was slow once may have become quick', async () => {
  const { take, give } = open(1);
  const ada = await take('ada');
  give(ada, kilobyte, minute);
  give(ada, 60 * 1024 * kilobyte, minute);
  await expect(take('eve')).rejects.toMatchObject(busy);
  give(ada, kilobyte, minute);
  await take('eve');
  expect(ada.lost.aborted).toBe(true);
});

test('who has waited in vain looks once more for a slow one before it gives up', async () => {
  const { take, pass } = open(1, 50);
  const ada = await take('ada');
  ada.hand(kilobyte);
  const waiting = take('eve');
  pass(minute);
  await waiting;
  expect(ada.lost.aborted).toBe(true);
});
