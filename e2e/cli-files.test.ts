import { createClient } from '@cadiz/client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startWorkplace, type Workplace } from './cli.ts';

let place: Workplace;
beforeAll(async () => {
  place = await startWorkplace();
  for (const [folder, name, text] of [
    ['', 'read me.txt', 'hello'],
    ['press/2027', 'über.txt', 'grüße'],
    ['press/2027', 'twice.txt', 'one'],
    ['press/2027', 'twice.txt', 'two'],
    ['press', 'e\u202egnp.txt', 'x'],
  ] as const)
    await client().upload(text, { name, folder, type: 'text/plain' });
});
afterAll(() => place.close());

const client = () => createClient({ baseUrl: place.service.url, apiKey: place.apiKey });
const listed = async (path: string) => (await place.ok(['ls', path])).stdout.split('\n').filter(Boolean);

describe('reading', () => {
  test('ls lists a folder, a file and everything beneath', async () => {
    expect(await listed('/')).toEqual(['press/', 'read me.txt']);
    expect(await listed('cadiz:/read me.txt')).toEqual(['read me.txt']);
    expect((await place.ok(['ls', '-R', 'cadiz:/'])).stdout.split('\n')).toContain('press/2027/über.txt');
    expect((await place.ok(['ls', '-l', 'press/2027'])).stdout).toMatch(
      /^ *\d B {2}\d{4}-\d\d-\d\d \d\d:\d\d {2}text\/plain {2}\S{36} {2}twice\.txt$/m,
    );
    const { files } = await place.json<{ files: { path: string; fileSize: number }[] }>(['ls', 'press/2027']);
    expect(files.map(({ path }) => path)).toEqual(['twice.txt', 'twice.txt', 'über.txt']);
  });

  test('names cannot steer the terminal', async () => {
    expect(await listed('press')).toEqual(['2027/', 'e\\x202egnp.txt']);
  });

  test('tree draws what is beneath', async () => {
    const { stdout } = await place.ok(['tree', 'press']);
    expect(stdout).toContain('└── ');
    expect(stdout).toContain('1 folder, 4 files, ');
    expect((await place.ok(['tree', '-L', '1', '-d'])).stdout).toBe(
      'cadiz:/\n└── press/\n\n2 folders, 5 files, 19 B\n',
    );
  });

  test('cat prints bytes; of two files with one name, one must be chosen by its id', async () => {
    const printed = await place.spawn(['cat', 'read me.txt', 'cadiz:/press/2027/über.txt']);
    expect(printed).toEqual({ code: 0, stdout: 'hellogrüße', stderr: '' });
    const { code, stderr } = await place.cadiz(['cat', 'press/2027/twice.txt']);
    expect(code).toBe(2);
    const [, id = ''] = /cadiz:id:(\S+)/.exec(stderr) ?? [];
    expect((await place.ok(['cat', `cadiz:id:${id}`])).stdout).toBe('two');
  });

  test('url and link serve the file, and a deleted link does not', async () => {
    const url = (await place.ok(['url', 'read me.txt', '--expires', '5m'])).stdout.trim();
    expect(await (await fetch(url)).text()).toBe('hello');
    const link = (await place.ok(['link', 'read me.txt', '--inline', '--expires', '7d'])).stdout.trim();
    expect(await (await fetch(link)).text()).toBe('hello');
    const { links } = await place.json<{ links: { id: string }[] }>(['links', 'list', 'read me.txt']);
    expect(links).toHaveLength(1);
    await place.ok(['links', 'delete', links[0]?.id ?? '', '--yes']);
    expect((await fetch(link)).status).toBe(404);
  });

  test('ticket prints one, which uploads until it is revoked', async () => {
    const ticket = (
      await place.ok(['ticket', 'press', '--files', '2', '--bytes', '1kB', '--type', 'text/*'])
    ).stdout.trim();
    const uploader = createClient({ baseUrl: place.service.url, ticket });
    expect((await uploader.upload('abc', { name: 'from a ticket.txt', type: 'text/plain' })).ticketId).not.toBeNull();
    const { tickets } = await place.json<{ tickets: { id: string; left: { files: number } }[] }>(['tickets']);
    expect(tickets).toEqual([expect.objectContaining({ left: expect.objectContaining({ files: 1 }) })]);
    await place.ok(['tickets', 'revoke', tickets[0]?.id ?? '', '-y']);
    await expect(uploader.upload('abc', { name: 'b.txt', type: 'text/plain' })).rejects.toThrow();
    await place.ok(['rm', 'press/from a ticket.txt', '--yes']);
  });
});

describe('changing', () => {
  test('mkdir wants a parent, unless -p creates it', async () => {
    expect((await place.spawn(['mkdir', 'new/deep'])).code).toBe(3);
    await place.ok(['mkdir', '-p', 'new/deep', 'cadiz:/new/other']);
    await place.ok(['mkdir', 'new/third']);
    expect(await listed('new')).toEqual(['deep/', 'other/', 'third/']);
    expect((await place.cadiz(['mkdir', 'new/third'])).code).toBe(1);
    expect((await place.cadiz(['mkdir', 'read me.txt'])).code).toBe(1);
    for (const [name, why] of [
      ['x'.repeat(256), 'name must be at most 255 bytes'],
      ['a\tb', 'name must not contain control characters'],
    ] as const)
      expect((await place.cadiz(['mkdir', name])).stderr).toContain(`Error: ${why}`);
  });

  test('mv moves into folders, renames, and takes no name that is taken', async () => {
    await client().upload('a', { name: 'a.txt', folder: 'moves' });
    await client().upload('b', { name: 'b.txt', folder: 'moves' });
    await place.ok(['mkdir', 'moves/sub']);
    await place.ok(['mv', 'moves/a.txt', 'moves/b.txt', 'moves/sub']);
    expect(await listed('moves/sub')).toEqual(['a.txt', 'b.txt']);
    await place.ok(['mv', 'moves/sub/a.txt', 'cadiz:/moves/c.txt']);
    await place.ok(['mv', 'moves/sub', 'moves/renamed']);
    expect(await listed('moves')).toEqual(['renamed/', 'c.txt']);
    await client().upload('c', { name: 'c.txt', folder: 'moves/renamed' });
    expect((await place.cadiz(['mv', 'moves/c.txt', 'moves/renamed/'])).code).toBe(1);
    expect((await place.cadiz(['mv', 'moves/c.txt', 'moves/renamed/b.txt'])).code).toBe(1);
    expect((await place.cadiz(['mv', 'moves/c.txt', 'nowhere/'])).code).toBe(3);
    expect(await listed('moves/renamed')).toEqual(['b.txt', 'c.txt']);
  });

  test('mv gives a folder its own name in another case', async () => {
    await place.ok(['mkdir', '-p', 'cases/cas', 'cases/other']);
    await place.ok(['mv', 'cases/cas', 'cases/CAS']);
    expect(await listed('cases')).toEqual(['CAS/', 'other/']);
    await place.ok(['mv', 'cases/CAS', 'CASES/Cas/']);
    expect(await listed('cases')).toEqual(['Cas/', 'other/']);
    expect((await place.cadiz(['mv', 'cases/Cas', 'cases/Cas'])).code).toBe(1);
    expect((await place.cadiz(['mv', 'cases/Cas', 'cases/other', 'cases/CAS'])).code).toBe(1);
    expect(await listed('cases')).toEqual(['Cas/', 'other/']);
  });

  test('mv makes no two of one name, and moves nothing then', async () => {
    for (const folder of ['two/a', 'two/b', 'two/c/SAME']) await client().upload('x', { name: 'same', folder });
    await place.ok(['mkdir', 'two/to']);
    for (const other of ['two/b/same', 'two/c/SAME']) {
      const { code, stderr } = await place.cadiz(['mv', 'two/a/same', other, 'two/to']);
      expect([code, stderr]).toEqual([1, expect.stringContaining('would have the same name in cadiz:/two/to')]);
    }
    expect(await listed('two/to')).toEqual([]);
    await place.ok(['mv', 'two/a/same', 'two/a/same', 'two/to']);
    expect(await listed('two/to')).toEqual(['same']);
  });

  test('a file or folder that is named by its id is where it is, whatever leads there', async () => {
    for (const folder of ['ids', 'ids/outer/inner', 'inner'])
      await client().upload(folder, { name: 'same.txt', folder });
    await client().upload('x', { name: 'free.txt', folder: 'inner' });
    await client().upload('x', { name: 'free.txt', folder: 'ids' });
    const { id } = await client().folders.getByPath('ids/outer/inner');
    const refused = await place.cadiz(['mv', 'ids/same.txt', `cadiz:id:${id}`]);
    expect([refused.code, refused.stderr]).toEqual([
      1,
      expect.stringContaining('cadiz:/ids/outer/inner/same.txt exists already'),
    ]);
    const moved = await place.ok(['mv', 'ids/free.txt', `cadiz:id:${id}`]);
    expect(moved.stderr).toBe('Moved 1 item to cadiz:/ids/outer/inner.\n');
    expect(await listed('ids/outer/inner')).toEqual(['free.txt', 'same.txt']);
    const { files } = await place.json<{ files: { id: string }[] }>(['ls', `cadiz:id:${id}`]);
    const { urls } = await place.json<{ urls: { path: string }[] }>(['url', `cadiz:id:${files[0]?.id}`]);
    expect(urls.map(({ path }) => path)).toEqual(['cadiz:/ids/outer/inner/free.txt']);
    expect((await place.ok(['tree', `cadiz:id:${id}`])).stdout).toMatch(/^cadiz:\/ids\/outer\/inner\n/);
    const deleted = await place.json<{ files: number; folders: number }>(['rm', '-ry', 'ids/outer', `cadiz:id:${id}`]);
    expect(deleted).toMatchObject({ files: 2, folders: 2 });
  });

  test('rm shows what it would delete, asks, and the trash gives it back', async () => {
    await client().upload('abc', { name: 'x.txt', folder: 'gone/deep' });
    expect((await place.cadiz(['rm', 'gone'])).code).toBe(2);
    const dry = await place.ok(['rm', '-rn', 'gone']);
    expect(dry.stderr).toBe('Would move to the trash: 2 folders, 1 file, 3 B.\n');
    const refused = await place.cadiz(['rm', '-r', 'gone']);
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('needs --yes')]);
    expect((await place.type(['rm', '-r', 'gone'], [['[y/N]', 'n']])).code).toBe(1);
    expect(await listed('gone')).toEqual(['deep/']);
    const deleted = await place.type(['rm', '-r', 'gone'], [['Move to the trash: 2 folders, 1 file, 3 B? [y/N]', 'y']]);
    expect(deleted.code).toBe(0);
    expect((await place.cadiz(['ls', 'gone'])).code).toBe(3);

    const { entries } = await place.json<{ entries: { id: string; name: string }[] }>(['trash', 'list']);
    const gone = entries.find(({ name }) => name === 'gone');
    expect((await place.ok(['trash', 'restore', gone?.id ?? ''])).stderr).toContain('Restored 1 file and 2 folders.');
    expect((await place.ok(['cat', 'gone/deep/x.txt'])).stdout).toBe('abc');
    expect((await place.cadiz(['trash', 'restore', gone?.id ?? ''])).code).toBe(3);

    await place.ok(['rm', '-ry', 'gone']);
    await place.ok(['trash', 'restore', `cadiz:id:${gone?.id.toUpperCase()}`]);
    expect((await place.cadiz(['trash', 'restore', 'cadiz:id:x'])).code).toBe(2);
    expect((await place.cadiz(['trash', 'restore', 'cadiz:/gone'])).code).toBe(3);
    await place.ok(['rm', '-ry', 'gone']);
    expect((await place.cadiz(['trash', 'empty'])).code).toBe(2);
    await place.ok(['trash', 'empty', '--yes']);
    expect((await place.ok(['trash'])).stdout).toBe('');
  });

  test('the root is neither deleted nor moved', async () => {
    expect((await place.cadiz(['rm', '-r', '--yes', 'cadiz:/'])).code).toBe(2);
    expect((await place.cadiz(['mv', 'cadiz:/', 'press'])).code).toBe(2);
  });
});
