import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Receiver, startReceiver } from '../packages/server/test/receiver.ts';
import { type ConsoleUnderTest, findFlaws, startConsole, triesJourneys } from './console-page.ts';

let tested: ConsoleUnderTest;
let receiver: Receiver;

beforeAll(async () => {
  if (!triesJourneys) return;
  tested = await startConsole({ WEBHOOK_ALLOW_NETWORKS: '127.0.0.0/8' });
  receiver = await startReceiver();
});

afterAll(async () => {
  if (!triesJourneys) return;
  await tested.stop();
  await receiver.close();
});

describe.runIf(triesJourneys)('webhooks', () => {
  test('an endpoint is added, tested, fails, gets what it missed, is rotated, paused and deleted', async () => {
    const projectId = await tested.createProject('Webhooks');
    const page = await tested.openAsOwner(`/projects/${projectId}/webhooks`);
    await page.getByText('No endpoints').waitFor();
    expect(await findFlaws(page)).toEqual([]);

    await page.getByRole('button', { name: 'Add endpoint' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('URL').fill('https://10.0.0.1/hook');
    await dialog.getByLabel('Events').fill('file.created, folder.created');
    await dialog.getByRole('button', { name: 'Add endpoint' }).click();
    await dialog.getByText('not a public one').first().waitFor();
    expect(await findFlaws(page)).toEqual([]);
    await dialog.getByLabel('URL').fill(receiver.url);
    await dialog.getByRole('button', { name: 'Add endpoint' }).click();

    await page.getByText('The secret of the endpoint').waitFor();
    const secret = (await page.locator('.secret code').textContent()) ?? '';
    expect(secret).toMatch(/^whsec_/);
    expect(await findFlaws(page)).toEqual([]);
    await page.getByRole('button', { name: 'Copy', exact: true }).click();
    await page.getByRole('button', { name: 'Done' }).click();
    await page.getByText('The secret of the endpoint').waitFor({ state: 'detached' });
    expect(await page.content()).not.toContain(secret);

    const endpoint = page.getByRole('region', { name: receiver.url, exact: true });
    await endpoint.getByRole('button', { name: `Send a test: ${receiver.url}` }).click();
    await endpoint.getByRole('button', { name: `Deliveries: ${receiver.url}` }).click();
    const ofTest = endpoint.getByRole('row').filter({ hasText: 'webhook.test' });
    await ofTest.getByText('delivered').waitFor();
    const [first] = receiver.received;
    expect(new Webhook(secret).verify(first?.body ?? '', first?.headers ?? {})).toMatchObject({ type: 'webhook.test' });

    receiver.answer = () => ({ status: 500, body: 'Out of order' });
    await tested.ask('POST', '/api/storage/folders', { projectId, name: 'A folder', parentId: null });
    const failed = endpoint.getByRole('row').filter({ hasText: 'folder.created' });
    await failed.locator('summary').click();
    await failed.locator('pre').getByText('Out of order').waitFor();
    await failed.getByText(/next try/).waitFor();
    expect(await findFlaws(page)).toEqual([]);
    receiver.answer = () => ({ status: 204 });
    await failed.getByRole('button', { name: 'Send again: folder.created, ' }).click();
    await failed.getByText('delivered').waitFor();

    const more = endpoint.getByRole('button', { name: /^More for/ });
    await more.click();
    await page.getByRole('menuitem', { name: 'Edit' }).click();
    const edit = page.getByRole('dialog', { name: 'Edit the endpoint' });
    expect(await edit.getByLabel('URL').inputValue()).toBe(receiver.url);
    expect(await edit.getByLabel('Events').inputValue()).toBe('file.created, folder.created');
    await edit.getByLabel('URL').fill('http://169.254.169.254/latest');
    await edit.getByRole('button', { name: 'Save' }).click();
    const refused = edit.locator('.field').filter({ has: page.getByLabel('URL') });
    await refused.getByRole('alert').getByText('not a public one').waitFor();
    expect(await findFlaws(page)).toEqual([]);
    await edit.getByLabel('URL').fill(receiver.url);
    await edit.getByLabel('Events').fill('file.created, file.invented');
    await edit.getByRole('button', { name: 'Save' }).click();
    await edit
      .locator('.field')
      .filter({ has: page.getByLabel('Events') })
      .getByRole('alert')
      .waitFor();
    const changed = `${receiver.url}?of=shop`;
    await edit.getByLabel('URL').fill(changed);
    await edit.getByLabel('Description').fill('Orders of the shop');
    await edit.getByLabel('Events').fill('folder.created');
    await edit.getByRole('button', { name: 'Save' }).click();
    await page.getByText('The endpoint is changed').waitFor();
    const after = page.getByRole('region', { name: changed, exact: true });
    await after.getByText('Orders of the shop · folder.created').waitFor();
    await tested.ask('POST', '/api/storage/folders', { projectId, name: 'At the new URL', parentId: null });
    await expect.poll(() => receiver.received.at(-1)?.path).toContain('of=shop');
    await after.getByRole('button', { name: /^More for/ }).click();
    await page.getByRole('menuitem', { name: 'Edit' }).click();
    await edit.getByLabel('URL').fill(receiver.url);
    await edit.getByLabel('Description').fill('');
    await edit.getByRole('button', { name: 'Save' }).click();
    await endpoint.getByText('folder.created').first().waitFor();

    await more.click();
    await page.getByRole('menuitem', { name: 'Rotate secret' }).click();
    await page.getByRole('dialog').getByText(receiver.url, { exact: true }).waitFor();
    await page.getByRole('dialog').getByLabel('The old secret still signs for').selectOption('hour');
    expect(await findFlaws(page)).toEqual([]);
    await page.getByRole('dialog').getByRole('button', { name: 'Rotate secret' }).click();
    await page.getByText('The secret of the endpoint').waitFor();
    expect(await page.locator('.secret code').textContent()).not.toBe(secret);
    await page.getByRole('button', { name: 'Copy', exact: true }).click();
    await page.getByRole('button', { name: 'Done' }).click();

    await more.click();
    await page.getByRole('menuitem', { name: 'Pause' }).click();
    await endpoint.getByText(/^paused/).waitFor();
    await tested.ask('POST', '/api/storage/folders', { projectId, name: 'Missed', parentId: null });
    const before = receiver.received.length;
    await more.click();
    await page.getByRole('menuitem', { name: 'Resume' }).click();
    await endpoint.getByText('on', { exact: true }).waitFor();
    await more.click();
    await page.getByRole('menuitem', { name: 'Send what was missed' }).click();
    await page.getByText('One event is sent again').waitFor();
    await expect.poll(() => receiver.received.length).toBe(before + 1);

    await more.click();
    await page.getByRole('menuitem', { name: 'Delete' }).click();
    // There may be several.
    await page.getByRole('dialog').getByText(receiver.url, { exact: true }).waitFor();
    expect(await findFlaws(page)).toEqual([]);
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByText('No endpoints').waitFor();
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('whoever is no owner is told why there is nothing', async () => {
    const projectId = await tested.createProject('Not for editors');
    const editor = await tested.openAsMember(projectId, 'editor', `/projects/${projectId}/webhooks`);
    await editor.getByText('Webhooks are for owners').waitFor();
    expect(await editor.getByRole('button', { name: 'Add endpoint' }).count()).toBe(0);
    expect(await findFlaws(editor)).toEqual([]);
    expect(tested.complaints).toEqual([]);
    await editor.context().close();
  });
});
