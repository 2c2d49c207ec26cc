import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { createClient } from '@cadiz/client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ConsoleUnderTest, findBarriers, findFlaws, startConsole, triesJourneys } from './console-page.ts';

const run = promisify(execFile);

let tested: ConsoleUnderTest;

beforeAll(async () => {
  if (triesJourneys) tested = await startConsole();
});

afterAll(async () => {
  if (triesJourneys) await tested.stop();
});

describe.runIf(triesJourneys)('keys and members', () => {
  test('a key is shown once, leaves no trace, and is dead as soon as it is revoked', async () => {
    const projectId = await tested.createProject('Keys');
    const page = await tested.openAsOwner(`/projects/${projectId}/keys`, {
      permissions: ['clipboard-read', 'clipboard-write'],
    });
    await page.getByText('No keys yet').waitFor();
    expect(await findBarriers(page)).toEqual([]);
    await page.getByRole('button', { name: 'Create key' }).click();
    await page.getByRole('dialog').getByRole('textbox', { name: 'Name' }).fill('Upload form');
    expect(await findBarriers(page)).toEqual([]);
    await page.keyboard.press('Enter');
    const shown = page.getByRole('dialog', { name: '“Upload form” is ready. Copy the key now.' });
    await shown.waitFor();
    await shown.getByText('Whole project').waitFor();
    await shown.getByText(/^may read, write · expires \d/).waitFor();
    expect(await shown.getByRole('tab').allInnerTexts()).toEqual(['.env', 'TypeScript', 'curl', 'React']);
    expect(await findBarriers(page)).toEqual([]);
    // The button that copies has the focus; neither Escape nor a click beside it closes the dialog.
    await expect.poll(() => page.evaluate(() => document.activeElement?.textContent)).toBe('Copy');
    await page.keyboard.press('Escape');
    await page.mouse.click(5, 5);
    await page.getByRole('button', { name: 'Copy', exact: true }).first().click();
    // What is shown for a shell works in one as it is.
    await page.getByRole('tab', { name: 'curl' }).click();
    const { stdout } = await run('bash', ['-c', (await page.getByRole('tabpanel').textContent()) ?? '']);
    expect(JSON.parse(stdout)).toMatchObject({ files: [], folders: [] });
    await page.getByRole('tab', { name: '.env' }).click();
    const settings = (await page.getByRole('tabpanel').textContent()) ?? '';
    expect(settings).toMatch(
      new RegExp(`^CADIZ_URL=${tested.url}\nCADIZ_PROJECT_ID=${projectId}\nCADIZ_API_KEY=cz_live_`),
    );
    await page.getByRole('tab', { name: 'TypeScript' }).click();
    await page.getByRole('tabpanel').getByText(`projectId: '${projectId}'`).waitFor();
    await page.getByRole('button', { name: 'Done' }).click();
    await page.getByText('is ready. Copy the key now.').waitFor({ state: 'detached' });
    const key = await page.evaluate(() => navigator.clipboard.readText());
    expect(key).toMatch(/^cz_live_\w{49}$/);
    const traces = await page.evaluate(() =>
      [
        document.documentElement.outerHTML,
        location.href,
        JSON.stringify([{ ...localStorage }, { ...sessionStorage }]),
      ].join(),
    );
    expect(traces).not.toContain(key);
    const list = () =>
      fetch(`${tested.url}/api/storage/list?projectId=${projectId}`, { headers: { Authorization: `Bearer ${key}` } });
    expect((await list()).status).toBe(200);
    await page.reload();
    const row = page.getByRole('row').filter({ hasText: 'Upload form' });
    await row.getByText(/^Created by you, /).waitFor();
    for (const fact of [`cz_live_…${key.slice(-4)}`, 'Whole project', 'read', 'write'])
      await row.getByText(fact, { exact: true }).first().waitFor();
    await page.getByRole('button', { name: 'Revoke Upload form?' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke', exact: true }).click();
    await page.getByText('No keys yet').waitFor();
    expect((await list()).status).toBe(401);
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('a secret is not left by accident, and is copied by hand where the browser refuses', async () => {
    const projectId = await tested.createProject('Kept');
    const page = await tested.openAsOwner(`/projects/${projectId}/members`);
    await page.getByRole('link', { name: 'API keys' }).click();
    await page.getByRole('button', { name: 'Create key' }).click();
    await page.getByRole('dialog').getByRole('textbox', { name: 'Name' }).fill('Kept');
    await page.getByRole('dialog').getByRole('button', { name: 'Create key' }).click();
    await page.getByText('is ready. Copy the key now.').waitFor();
    await page.evaluate(() => history.back());
    await page.getByText('Nobody can show you this key again.').waitFor();
    expect(page.url()).toMatch(/keys$/);
    const asked = page.waitForEvent('dialog');
    const reloading = page.reload({ timeout: 5000 }).catch(() => undefined);
    const question = await asked;
    expect(question.type()).toBe('beforeunload');
    await question.dismiss();
    await reloading;
    // Without the permission of a browser, whose clipboard refuses.
    await page.evaluate(() => {
      navigator.clipboard.writeText = () => Promise.reject(new DOMException('no', 'NotAllowedError'));
    });
    await page.getByRole('dialog').getByRole('button', { name: 'Copy', exact: true }).click();
    await page.getByText('The browser did not allow it.').waitFor();
    expect(await page.getByRole('button', { name: 'Done' }).isDisabled()).toBe(true);
    expect(await findBarriers(page)).toEqual([]);
    await page.locator('.secret code').evaluate((code) => getSelection()?.selectAllChildren(code));
    await page.keyboard.press('Control+c');
    await page.getByRole('button', { name: 'Done' }).click();
    await page.getByText('is ready. Copy the key now.').waitFor({ state: 'detached' });
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('a secret is shown also where the service answers nothing after it', async () => {
    const projectId = await tested.createProject('Shown first');
    await tested.ask('POST', '/api/api-keys', { name: 'Rotated', projectId });
    const page = await tested.openAsOwner(`/projects/${projectId}/keys`);
    const dialog = page.getByRole('dialog');
    const isList = ({ pathname, search }: URL) =>
      /^\/api\/(?:api-keys|storage\/tickets)$/.test(pathname) && search !== '';
    for (const [screen, open, send, secret] of [
      ['API keys', 'Rotate Rotated', 'Rotate', 'cz_live_'],
      ['API keys', 'Create key', 'Create key', 'cz_live_'],
      ['Tickets', 'Create ticket', 'Create ticket', 'cz_ticket_'],
    ] as const) {
      await page.getByRole('link', { name: screen }).click();
      await page.getByRole('button', { name: open }).click();
      if (send === 'Create key') await dialog.getByRole('textbox', { name: 'Name' }).fill('Shown');
      // Never answered.
      await page.route(isList, () => undefined);
      await dialog.getByRole('button', { name: send, exact: true }).click();
      await dialog.locator('.secret code').getByText(secret).waitFor();
      await page.unrouteAll({ behavior: 'ignoreErrors' });
      await dialog.getByRole('button', { name: 'Close without copying' }).click();
      await dialog.getByRole('button', { name: 'Close anyway' }).click();
      await dialog.waitFor({ state: 'detached' });
    }
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('what was created although no answer came is seen before somebody tries again', async () => {
    const projectId = await tested.createProject('Answers that are lost');
    const page = await tested.openAsOwner(`/projects/${projectId}/keys`);
    const dialog = page.getByRole('dialog');
    await page.route('**/api/api-keys', async (route) => {
      await route.fetch();
      await route.abort('connectionreset');
    });
    await page.getByRole('button', { name: 'Create key' }).first().click();
    await dialog.getByRole('textbox', { name: 'Name' }).fill('Lost');
    await dialog.getByRole('button', { name: 'Create key' }).click();
    await dialog.getByText('Cadiz could not be reached.').waitFor();
    await page.locator('.key-table').getByText('Lost').waitFor();
    await page.context().close();
  });

  test('the title of a page has the focus once what had it is gone', async () => {
    const projectId = await tested.createProject('Focus');
    for (const email of ['one@example.com', 'two@example.com'])
      await tested.ask('POST', `/api/projects/${projectId}/invitations`, { email, role: 'viewer' });
    const page = await tested.openAsOwner(`/projects/${projectId}/members`);
    const focused = () => page.evaluate(() => document.activeElement?.textContent);
    for (const email of ['one@example.com', 'two@example.com']) {
      const withdraw = page.getByRole('button', { name: `Withdraw the invitation of ${email}` });
      await withdraw.focus();
      await page.keyboard.press('Enter');
      await withdraw.waitFor({ state: 'detached' });
      await expect.poll(focused).toBe('Members');
    }
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('keys are shown fifty at a time', async () => {
    const projectId = await tested.createProject('Fifty');
    for (let n = 1; n <= 53; n++) await tested.ask('POST', '/api/api-keys', { name: `Key ${n}`, projectId });
    const page = await tested.openAsOwner(`/projects/${projectId}/keys`);
    const rows = page.locator('tbody tr');
    await expect.poll(() => rows.count()).toBe(50);
    await page.getByRole('button', { name: 'Show more' }).click();
    await expect.poll(() => rows.count()).toBe(53);
    expect(await page.getByRole('button', { name: 'Show more' }).count()).toBe(0);
    await page.context().close();
  });

  test('a key for one folder until a day of its own, found among many, with a name of any length', async () => {
    const projectId = await tested.createProject('Many keys');
    const inFolder = (name: string, parentId: string | null) =>
      tested.ask<{ id: string }>('POST', '/api/storage/folders', { projectId, name, parentId });
    await inFolder('2027', (await inFolder('Campaigns', null)).id);
    const ids: string[] = [];
    for (let number = 1; number <= 9; number++) {
      const name = number === 9 ? `${'A very long name '.repeat(11)}٩` : `Importer ${number}`;
      ids.push((await tested.ask<{ id: string }>('POST', '/api/api-keys', { name, projectId })).id);
    }
    await tested.ask('DELETE', `/api/api-keys/${ids[0]}`);
    const page = await tested.openAsOwner(`/projects/${projectId}/keys`);
    await page.getByRole('button', { name: 'Create key' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('textbox', { name: 'Name' }).fill('Campaign form');
    await dialog.getByRole('radio', { name: /One folder/ }).check();
    expect(await dialog.getByRole('button', { name: 'Create key' }).isDisabled()).toBe(true);
    await dialog.getByRole('button', { name: 'Campaigns' }).click();
    await dialog.getByRole('button', { name: '2027' }).click();
    await dialog.getByText('Chosen: Campaigns / 2027').waitFor();
    await dialog.getByRole('checkbox', { name: /Read/ }).uncheck();
    await dialog.getByRole('checkbox', { name: /Write/ }).uncheck();
    await dialog.getByText('Tick at least one.').waitFor();
    expect(await dialog.getByRole('button', { name: 'Create key' }).isDisabled()).toBe(true);
    await dialog.getByRole('checkbox', { name: /Write/ }).check();
    await dialog.getByLabel('Expires').selectOption('on a date of your own');
    const soon = new Date(Date.now() + 3 * 86_400_000);
    await dialog.getByLabel('Last day').fill(soon.toISOString().slice(0, 10));
    expect(await findFlaws(page)).toEqual([]);
    await dialog.getByRole('button', { name: 'Create key' }).click();
    await page.getByText('is ready. Copy the key now.').waitFor();
    await dialog.getByText('Campaigns / 2027').waitFor();
    await dialog.getByText(/^may write · expires \d/).waitFor();

    // Real tabs: arrows choose, and the code is this project's.
    const tab = page.getByRole('tab', { name: '.env' });
    await tab.focus();
    await page.keyboard.press('ArrowLeft');
    await page.getByRole('tab', { name: 'React', selected: true }).waitFor();
    await page.getByRole('tabpanel').getByText(`baseUrl: '${tested.url}', ticket`).waitFor();
    await page.keyboard.press('ArrowRight');
    await page.getByRole('tabpanel').getByText(`CADIZ_URL=${tested.url}`).waitFor();
    expect(await findFlaws(page)).toEqual([]);
    await page.getByRole('button', { name: 'Close without copying' }).click();
    await page.getByText('Nobody can show you this key again').waitFor();
    await page.getByRole('button', { name: 'Close anyway' }).click();

    const row = page.getByRole('row').filter({ hasText: 'Campaign form' });
    await row.getByText('Campaigns / 2027').waitFor();
    await row.getByText('write', { exact: true }).waitFor();
    expect(await row.getByText('read', { exact: true }).count()).toBe(0);
    await row.getByText('Created by you').waitFor();
    // It ends within a week, which is marked.
    await row.locator('td.only-wide .badge.warn time').waitFor();
    const { apiKeys } = await tested.ask<{
      apiKeys: { name: string; last4: string; expiresAt: string; folderId: string }[];
    }>('GET', `/api/api-keys?projectId=${projectId}`);
    const made = apiKeys.find(({ name }) => name === 'Campaign form');
    expect(Date.parse(made?.expiresAt ?? '')).toBeGreaterThan(Date.now() + 2 * 86_400_000);
    await page.getByText('1 key ended').click();
    await page
      .getByRole('row')
      .filter({ hasText: 'Importer 1' })
      .locator('td.only-wide')
      .getByText(/^revoked/)
      .waitFor();
    expect(await findFlaws(page)).toEqual([]);

    const find = page.getByRole('searchbox', { name: 'Find a key' });
    await find.fill('importer 7');
    await row.waitFor({ state: 'detached' });
    await page.getByText('Importer 7').waitFor();
    await find.fill(`cz_live_whatever${made?.last4}`);
    await row.waitFor();
    await find.fill('no such key');
    await page.getByText('No key is called “no such key”').waitFor();
    expect(await findFlaws(page)).toEqual([]);
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('a key is rotated: both work, then only the new one; an editor is told why not', async () => {
    const projectId = await tested.createProject('Rotation');
    const old = await tested.ask<{ key: string }>('POST', '/api/api-keys', { name: 'Nightly', projectId });
    const statusOf = async (key: string) =>
      (
        await fetch(`${tested.url}/api/storage/list?projectId=${projectId}`, {
          headers: { Authorization: `Bearer ${key}` },
        })
      ).status;
    const editor = await tested.openAsMember(projectId, 'editor', `/projects/${projectId}/keys`);
    await editor.getByRole('button', { name: 'Rotate Nightly?' }).click();
    await editor.getByText('Only an owner of the project can do that.').waitFor();
    expect(await editor.getByRole('button', { name: 'Rotate', exact: true }).count()).toBe(0);
    expect(await findFlaws(editor)).toEqual([]);
    await editor.context().close();

    const page = await tested.openAsOwner(`/projects/${projectId}/keys`);
    const rotate = async (overlap: string, explained: RegExp) => {
      await page.getByRole('button', { name: 'Rotate Nightly?' }).first().click();
      await page.getByRole('dialog').getByLabel('The old key works').selectOption(overlap);
      await page.getByRole('dialog').getByText(explained).waitFor();
      expect(await findFlaws(page)).toEqual([]);
      await page.getByRole('dialog').getByRole('button', { name: 'Rotate', exact: true }).click();
      await page.getByText('is ready. Copy the key now.').waitFor();
      const key = (await page.locator('.secret code').textContent()) ?? '';
      // Not by accident: neither Escape nor a click beside it.
      await page.keyboard.press('Escape');
      await page.mouse.click(5, 5);
      await page.getByRole('button', { name: 'Copy', exact: true }).click();
      await page.getByRole('button', { name: 'Done' }).click();
      await page.getByText('is ready. Copy the key now.').waitFor({ state: 'detached' });
      return key;
    };
    const second = await rotate('for an hour', /It stops working .+, for good/);
    expect(await Promise.all([old.key, second].map(statusOf))).toEqual([200, 200]);
    await page.getByRole('row').filter({ hasText: 'Nightly' }).nth(1).waitFor();
    // The keys are listed the oldest first: this ends the first one at once.
    const third = await rotate('no longer', /It stops working at once/);
    expect(await Promise.all([old.key, second, third].map(statusOf))).toEqual([401, 200, 200]);
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('what a leaked key uploaded is listed, quarantined, released and moved to the trash', async () => {
    const projectId = await tested.createProject('Leak');
    const { id, key } = await tested.ask<{ id: string; key: string }>('POST', '/api/api-keys', {
      name: 'Leaky',
      projectId,
    });
    const cadiz = createClient({ baseUrl: tested.url, apiKey: key });
    const folder = await cadiz.upload(new File(['Ahoy'], 'ahoy.txt', { type: 'text/plain' }), { folder: 'Logs' });
    await cadiz.upload(new File(['There'], `${'long'.repeat(50)}.txt`, { type: 'text/plain' }));

    const page = await tested.openAsOwner(`/projects/${projectId}/keys`);
    const choose = async (action: string) => {
      await page.getByRole('button', { name: 'Actions of Leaky' }).click();
      await page.getByRole('menuitem', { name: action }).click();
    };
    // A page of the service may be empty although another follows.
    let asked = 0;
    await page.route('**/uploads?*', async (route) => {
      const url = new URL(route.request().url());
      if (asked++ === 0) return route.fulfill({ json: { files: [], nextCursor: 'next' } });
      if (url.searchParams.get('cursor') === 'next') url.searchParams.delete('cursor');
      await route.continue({ url: url.href });
    });
    await choose('What it uploaded');
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('link', { name: /ahoy/ }).waitFor();
    expect(asked).toBe(2);
    await dialog.getByText('4 B').waitFor();
    expect(await findFlaws(page)).toEqual([]);
    await dialog.getByRole('link', { name: /ahoy/ }).click();
    await page.waitForURL(`**/files/${folder.folderId}?file=${folder.id}`);
    await page.unrouteAll();

    const served = async () => (await cadiz.files.page({ folder: null })).files.length;
    await page.goto(`${tested.url}/projects/${projectId}/keys`);
    await choose('This key leaked');
    await dialog.getByText('2 files, 9 B').waitFor();
    await dialog.getByLabel('Uploaded since').selectOption('a time of your own');
    await dialog.getByLabel('Since', { exact: true }).fill('2099-01-01T00:00');
    await dialog.getByText('It has uploaded nothing since then.').waitFor();
    expect(await dialog.getByRole('button', { name: 'Quarantine' }).isDisabled()).toBe(true);
    await dialog.getByLabel('Since', { exact: true }).fill('2020-01-01T00:00');
    await dialog.getByText('2 files, 9 B').waitFor();
    expect(await findFlaws(page)).toEqual([]);
    expect(await served()).toBe(1);
    await dialog.getByRole('checkbox', { name: /Revoke the key first/ }).uncheck();
    await dialog.getByRole('button', { name: 'Quarantine' }).click();
    await page.getByText('held', { exact: true }).waitFor();
    expect(await served()).toBe(0);
    expect(await findFlaws(page)).toEqual([]);
    await choose('What it uploaded');
    await page.getByRole('dialog', { name: 'Uploaded with Leaky' }).getByText('in quarantine').first().waitFor();
    await page.keyboard.press('Escape');

    await page.getByRole('button', { name: 'Release what Leaky uploaded' }).click();
    await page.getByText('Release 2 files?').waitFor();
    expect(await findFlaws(page)).toEqual([]);
    await dialog.getByRole('button', { name: 'Release' }).click();
    await page.getByText('released', { exact: true }).waitFor();
    expect(await served()).toBe(1);

    await choose('This key leaked');
    await dialog.getByText('2 files, 9 B').waitFor();
    await dialog.getByRole('button', { name: 'Quarantine' }).click();
    await page.getByText('1 key ended').waitFor();
    await expect(served()).rejects.toMatchObject({ code: 'invalid_api_key' });
    await page.getByRole('button', { name: 'Move to the trash what Leaky uploaded' }).click();
    await page.getByText('Move 2 files to the trash?').waitFor();
    expect(await findFlaws(page)).toEqual([]);
    await dialog.getByRole('button', { name: 'Move to the trash' }).click();
    await page.locator('.people').getByText('in the trash', { exact: true }).waitFor();
    const { files } = await tested.ask<{ files: { state: string }[] }>(
      'GET',
      `/api/projects/${projectId}/api-keys/${id}/uploads?since=2020-01-01T00:00:00Z&limit=10`,
    );
    expect(files.map(({ state }) => state)).toEqual(['trashed', 'trashed']);
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('an error shows its request id, and somebody who became a viewer can still revoke a key of their own', async () => {
    const projectId = await tested.createProject('Demoted');
    const page = await tested.openAsMember(projectId, 'editor', `/projects/${projectId}/keys`);
    await page.getByRole('button', { name: 'Create key' }).waitFor();
    const created = await page.context().request.post(`${tested.url}/api/api-keys`, {
      data: { name: 'Mine', projectId },
      headers: { Origin: tested.url },
    });
    expect(created.status()).toBe(200);
    const { members } = await tested.ask<{ members: { userId: string; role: string }[] }>(
      'GET',
      `/api/projects/${projectId}/members`,
    );
    const userId = members.find(({ role }) => role === 'editor')?.userId;
    await tested.ask('PATCH', `/api/projects/${projectId}/members/${userId}`, { role: 'viewer' });
    // What the open screen did not know yet is said by the service.
    await page.getByRole('button', { name: 'Create key' }).click();
    await page.getByRole('dialog').getByRole('textbox', { name: 'Name' }).fill('Another');
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').getByRole('alert').getByText('role_missing').waitFor();
    await page.getByRole('dialog').getByText('Request id').waitFor();
    await page.reload();
    await page.getByText('Keys are for owners and editors').waitFor();
    await page.getByText('You made these keys.').waitFor();
    expect(await page.getByRole('button', { name: 'Rotate Mine?' }).count()).toBe(0);
    expect(await findFlaws(page)).toEqual([]);
    await page.getByRole('button', { name: 'Revoke Mine?' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke', exact: true }).click();
    await page.getByText('1 key ended').waitFor();
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('somebody is invited, comes, and is seen', async () => {
    const projectId = await tested.createProject('Members');
    const page = await tested.openAsOwner(`/projects/${projectId}/members`);
    await page.getByRole('button', { name: 'Invite' }).click();
    await page.getByLabel('E-mail').fill('grace@example.com');
    await page.getByRole('dialog').getByLabel('Role', { exact: true }).selectOption('viewer');
    await page.keyboard.press('Tab');
    await page.getByRole('dialog').getByRole('button', { name: 'Invite' }).click();
    const link = (await page.getByRole('dialog').locator('code').textContent()) ?? '';
    await expect.poll(() => page.evaluate(() => document.activeElement?.textContent)).toBe('Copy');
    const guest = await tested.openPage();
    await guest.goto(link);
    await guest.getByLabel('Name').fill('Grace');
    await guest.getByLabel('E-mail').fill('grace@example.com');
    await guest.getByLabel('Password', { exact: true }).fill('another horse battery');
    await guest.getByRole('button', { name: 'Create the account' }).click();
    await guest
      .getByRole('link', { name: /Members/ })
      .first()
      .waitFor();
    // A viewer cannot upload, and is told so rather than offered what would fail.
    await guest.goto(`${tested.url}/projects/${projectId}/files`);
    await guest.getByText('You may look at this project, but not upload to it.').waitFor();
    expect(await guest.getByRole('button', { name: 'Upload' }).count()).toBe(0);
    await guest.goto(`${tested.url}/projects/${projectId}/keys`);
    await guest.getByText('Keys are for owners and editors').waitFor();
    await page.reload();
    await page.getByText('grace@example.com').waitFor();
    expect(await findBarriers(page)).toEqual([]);
    // Nobody goes by one click.
    await page.getByRole('button', { name: 'Remove Grace?' }).click();
    await page.getByText('revoked for good').waitFor();
    expect(await findBarriers(page)).toEqual([]);
    await page.getByRole('dialog').getByRole('button', { name: 'Remove', exact: true }).click();
    await page.getByText('grace@example.com').waitFor({ state: 'detached' });
    // The only owner stays, and is told so before asking.
    await page.getByText('To leave or take another role, make somebody else an owner first.').waitFor();
    expect(await page.getByRole('button', { name: 'Leave', exact: true }).count()).toBe(0);
    expect(tested.complaints).toEqual([]);
    await page.context().close();
    await guest.context().close();
  });
});
