import { describe, expect, test } from 'vitest';
import { checkHistory } from './check-history.mjs';

type Operation = Parameters<typeof checkHistory>[0][number];
type FinalState = Parameters<typeof checkHistory>[1][number];

interface History {
  operations: Operation[];
  final: FinalState;
}

const bounds = { revokedWithinMilliseconds: 1000 };
const projectId = 'p';

const call = (operation: Operation['operation'], start: number, rest: Partial<Operation>): Operation => ({
  operation,
  projectId,
  start,
  end: start + 10,
  outcome: 'ok',
  ...rest,
});
const facts = (name: string) => ({ storeKey: `p/${name}`, fileName: name, fileSize: 100, fileId: `id-${name}` });
const row = (name: string) => ({ id: `id-${name}`, storeKey: `p/${name}`, fileName: name, fileSize: 100 });

/** Three files stay, one of them acknowledged to nobody; one is deleted, one refused; a key is revoked. */
function goodHistory(): History {
  return {
    operations: [
      call('record', 0, facts('a')),
      call('record', 20, facts('b')),
      call('list', 40, { listed: ['p/a', 'p/b'] }),
      call('record', 60, { ...facts('unheard'), outcome: 'unknown' }),
      call('record', 70, { ...facts('never'), outcome: 'unknown' }),
      call('record', 80, { ...facts('refused'), outcome: 'failed', status: 409, code: 'quota_exceeded' }),
      call('record', 90, facts('gone')),
      call('get', 110, { storeKey: 'p/gone', status: 200 }),
      call('delete', 130, { storeKey: 'p/gone' }),
      call('get', 150, { storeKey: 'p/gone', outcome: 'failed', status: 404 }),
      // Overlaps the deletion of b below, so it may show b or not.
      call('list', 170, { listed: ['p/a', 'p/unheard'], end: 200 }),
      call('delete', 180, { storeKey: 'p/b', outcome: 'unknown' }),
      call('use', 200, { keyId: 'k' }),
      call('revoke', 220, { keyId: 'k' }),
      call('use', 1200, { keyId: 'k' }),
      call('use', 1300, { keyId: 'k', outcome: 'failed', status: 401 }),
    ],
    final: {
      projectId,
      quotaBytes: 500,
      files: [row('a'), row('b'), row('unheard')],
      totalBytes: 300,
      trashedBytes: 100,
      unreadable: [],
    },
  };
}

const check = ({ operations, final }: History) => checkHistory(operations, [final], bounds);

test('a history that keeps every promise has no violations', () => {
  expect(check(goodHistory())).toEqual([]);
});

test('the order in which the calls were written down does not matter', () => {
  const history = goodHistory();
  history.operations.reverse();
  expect(check(history)).toEqual([]);
});

describe('each broken promise is found', () => {
  const mutants: [name: string, rule: string, mutate: (history: History) => void][] = [
    [
      'an acknowledged file is missing at the end',
      'lost',
      ({ final }) => {
        final.files = final.files.filter(({ fileName }) => fileName !== 'a');
        final.totalBytes -= 100;
      },
    ],
    ['an acknowledged file has another id', 'lost', ({ final }) => change(final, { id: 'other' })],
    [
      'an acknowledged file has another size',
      'lost',
      ({ final }) => {
        change(final, { fileSize: 101 });
        final.totalBytes += 1;
      },
    ],
    ['an acknowledged file has another name', 'lost', ({ final }) => change(final, { fileName: 'z' })],
    ['an object does not answer', 'lost', ({ final }) => final.unreadable.push('p/a')],
    [
      'a recorded file is not found',
      'lost',
      ({ operations }) =>
        operations.push(call('get', 100, { storeKey: 'p/a', outcome: 'failed', status: 404, end: 110 })),
    ],
    [
      'one store key has two rows',
      'doubled',
      ({ final }) => {
        final.files.push(row('a'));
        final.totalBytes += 100;
      },
    ],
    [
      'a repeated record made a second file',
      'doubled',
      ({ operations, final }) => {
        operations.push(call('record', 30, { ...facts('a'), storeKey: 'p/a2', fileId: 'id-a2', outcome: 'unknown' }));
        final.files.push({ ...row('a'), id: 'id-a2', storeKey: 'p/a2' });
        final.totalBytes += 100;
      },
    ],
    [
      'a repeated record was answered with another id',
      'doubled',
      ({ operations }) => operations.push(call('record', 30, { ...facts('a'), fileId: 'id-a2' })),
    ],
    [
      'a file is listed that nobody tried to record',
      'ghost',
      ({ final }) => {
        final.files.push(row('ghost'));
        final.totalBytes += 100;
      },
    ],
    [
      'a file is listed whose record was refused',
      'ghost',
      ({ final }) => {
        final.files.push(row('refused'));
        final.totalBytes += 100;
      },
    ],
    [
      'a listing shows a file before it was recorded',
      'ghost',
      ({ operations }) => operations.push(call('list', 45, { listed: ['p/a', 'p/b', 'p/unheard'] })),
    ],
    [
      'a listing omits a file that was acknowledged before',
      'listing',
      ({ operations }) => operations.push(call('list', 100, { listed: ['p/a'] })),
    ],
    [
      'a listing shows a file twice',
      'listing',
      ({ operations }) => operations.push(call('list', 45, { listed: ['p/a', 'p/a', 'p/b'] })),
    ],
    [
      'a deleted file is back at the end',
      'deletion',
      ({ final }) => {
        final.files.push(row('gone'));
        final.totalBytes += 100;
        final.trashedBytes = 0;
      },
    ],
    [
      'a deleted file is back in a listing',
      'deletion',
      ({ operations }) => operations.push(call('list', 160, { listed: ['p/a', 'p/b', 'p/gone'] })),
    ],
    [
      'a deleted file still answers',
      'deletion',
      ({ operations }) => operations.push(call('get', 160, { storeKey: 'p/gone', status: 200 })),
    ],
    [
      'a revoked key is accepted later than it may be',
      'revocation',
      ({ operations }) => operations.push(call('use', 1231, { keyId: 'k' })),
    ],
    [
      'the quota is exceeded',
      'quota',
      ({ final }) => {
        final.quotaBytes = 399;
      },
    ],
    [
      'more was acknowledged than the quota allows, though less is counted',
      'quota',
      ({ operations }) => {
        for (const name of ['c', 'd', 'e']) {
          operations.push(call('record', 300, facts(name)), call('delete', 310, { storeKey: `p/${name}` }));
        }
      },
    ],
    [
      'the counted usage is not the sum of the files',
      'usage',
      ({ final }) => {
        final.totalBytes += 1;
      },
    ],
  ];

  test.each(mutants)('%s', (_, rule, mutate) => {
    const history = goodHistory();
    mutate(history);
    expect(check(history).map((violation) => violation.rule)).toContain(rule);
  });
});

/** Changes what is listed of the file `a`. */
function change(final: FinalState, facts: Partial<FinalState['files'][number]>): void {
  final.files = final.files.map((file) => (file.fileName === 'a' ? { ...file, ...facts } : file));
}
