import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ConsoleUnderTest, findBarriers, startConsole, triesJourneys } from './console-page.ts';

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
    await page.getByText('Your new key').waitFor();
    expect(await findBarriers(page)).toEqual([]);
    // The button that copies has the focus; neither Escape nor a click beside it closes the dialog.
    await expect.poll(() => page.evaluate(() => document.activeElement?.textContent)).toBe('Copy');
    await page.keyboard.press('Escape');
    await page.mouse.click(5, 5);
    await page.getByRole('button', { name: 'Copy', exact: true }).first().click();
    await page.getByRole('button', { name: 'Done' }).click();
    await page.getByText('Your new key').waitFor({ state: 'detached' });
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
    await page.getByRole('button', { name: 'Revoke Upload form?' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke', exact: true }).click();
    await page.getByText('No keys yet').waitFor();
    expect((await list()).status).toBe(401);
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
    await page.getByRole('button', { name: 'Leave', exact: true }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Leave', exact: true }).click();
    // The last owner stays, in the words of the service.
    await page.getByRole('dialog').getByRole('alert').waitFor();
    expect(tested.complaints).toEqual([]);
    await page.context().close();
    await guest.context().close();
  });
});
