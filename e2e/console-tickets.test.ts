import { createClient } from '@cadiz/client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ConsoleUnderTest, findFlaws, startConsole, triesJourneys } from './console-page.ts';

let tested: ConsoleUnderTest;

beforeAll(async () => {
  if (triesJourneys) tested = await startConsole();
});

afterAll(async () => {
  if (triesJourneys) await tested.stop();
});

describe.runIf(triesJourneys)('tickets', () => {
  test('a ticket is created for a folder, uploads with the shown code, and is refused once it is revoked', async () => {
    const projectId = await tested.createProject('Tickets');
    await tested.ask('POST', '/api/storage/folders', { projectId, name: 'Visitors', parentId: null });
    const page = await tested.openAsOwner(`/projects/${projectId}/tickets`);
    await page.getByRole('link', { name: 'Tickets' }).waitFor();
    await page.getByText('No tickets').waitFor();
    expect(await findFlaws(page)).toEqual([]);

    await page.getByRole('button', { name: 'Create ticket' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('radio', { name: /One folder/ }).check();
    // A folder that is not chosen yet must not mean the whole project.
    expect(await dialog.getByRole('button', { name: 'Create ticket' }).isDisabled()).toBe(true);
    await dialog.getByRole('button', { name: 'Visitors' }).click();
    await dialog.getByText('Chosen: Visitors').waitFor();
    await dialog.getByLabel('Files, at most').fill('2');
    await dialog.getByLabel('Size of all together').fill('1');
    await dialog.getByLabel('Types').fill('text/*, image/png');
    await dialog.getByLabel('Record what arrives').check();
    await dialog.getByLabel('Pages that may use it').fill('not an origin');
    await dialog.getByLabel('Works for').selectOption('hour');
    await dialog.getByRole('button', { name: 'Create ticket' }).click();
    await dialog.getByText('must be an origin such as').first().waitFor();
    expect(await findFlaws(page)).toEqual([]);
    await dialog.getByLabel('Pages that may use it').fill(new URL(tested.url).origin);
    await dialog.getByRole('button', { name: 'Create ticket' }).click();

    await page.getByText('Your new ticket').waitFor();
    const ticket = (await page.locator('.secret code').textContent()) ?? '';
    expect(ticket).toMatch(/^cz_ticket_\w{49}$/);
    await page.getByRole('tab', { name: 'Page', exact: true }).waitFor();
    expect(await findFlaws(page)).toEqual([]);
    await page.getByRole('tab', { name: 'Page', exact: true }).focus();
    await page.keyboard.press('ArrowRight');
    const code = (await page.getByRole('tabpanel').textContent()) ?? '';
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Copy', exact: true }).click();
    await page.getByRole('button', { name: 'Done' }).click();
    await page.getByText('Your new ticket').waitFor({ state: 'detached' });
    expect(await page.content()).not.toContain(ticket);

    // The code, as a page would run it, with a file field that holds a file.
    const run = () =>
      page.evaluate(
        `(async () => { const input = { files: [new File(['Ahoy'], 'ahoy.txt', { type: 'text/plain' })] }; ${code}; return recorded.fileName; })()`,
      );
    expect(await run()).toBe('ahoy.txt');
    await page.reload();
    const row = page.getByRole('row').filter({ hasText: 'Visitors' });
    await row.getByText('1 of 2 · 1 left').waitFor();
    await row.getByText('4 B of 1 MB · 1 MB left').waitFor();
    await row.getByText('text/*, image/png').waitFor();
    await row.getByText('live', { exact: true }).filter({ visible: true }).waitFor();
    expect(await findFlaws(page)).toEqual([]);
    expect(await run()).toBe('ahoy.txt');
    await page.reload();
    await row.getByText('exhausted').filter({ visible: true }).waitFor();

    await row.getByRole('button', { name: /Revoke the ticket/ }).click();
    await page.getByText('It stops working at once').waitFor();
    expect(await findFlaws(page)).toEqual([]);
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
    await row.getByText('revoked').filter({ visible: true }).waitFor();
    const current = `${tested.url}/api/storage/tickets/current`;
    expect((await fetch(current, { headers: { Authorization: `Bearer ${ticket}` } })).status).toBe(401);
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('who may not upload is told why, and an error shows its request id', async () => {
    const projectId = await tested.createProject('No tickets for viewers');
    const viewer = await tested.openAsMember(projectId, 'viewer', `/projects/${projectId}/tickets`);
    await viewer.getByText('Tickets are for owners and editors').waitFor();
    expect(await viewer.getByRole('button', { name: 'Create ticket' }).count()).toBe(0);
    expect(await findFlaws(viewer)).toEqual([]);
    await viewer.context().close();

    const page = await tested.openAsOwner('/projects');
    await page.route('**/api/storage/tickets?*', (route) =>
      route.fulfill({
        status: 409,
        contentType: 'application/problem+json',
        body: JSON.stringify({
          title: 'Conflict',
          detail: 'Out of order',
          status: 409,
          code: 'conflict',
          requestId: 'r-1',
        }),
      }),
    );
    await page.goto(`${tested.url}/projects/${projectId}/tickets`);
    await page.getByRole('alert').getByText('r-1').waitFor();
    await page.unrouteAll();
    await page.getByRole('button', { name: 'Retry' }).click();
    await page.getByText('No tickets', { exact: true }).waitFor();
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('a ticket says that its key has ended, and how much of it is used without being asked', async () => {
    const projectId = await tested.createProject('States');
    const key = await tested.ask<{ id: string; key: string }>('POST', '/api/api-keys', { name: 'Website', projectId });
    const budget = { maxFiles: 2, maxBytes: 1000 };
    await createClient({ baseUrl: tested.url, projectId, apiKey: key.key }).tickets.create({ ...budget });
    await tested.ask('DELETE', `/api/api-keys/${key.id}`);
    const own = await tested.ask<{ ticket: string }>('POST', '/api/storage/tickets', {
      projectId,
      folderId: null,
      ...budget,
    });
    const page = await tested.openAsOwner(`/projects/${projectId}/tickets`);
    const orphan = page.getByRole('row').filter({ hasText: 'its key has ended' });
    await orphan.waitFor();
    expect(await orphan.getByRole('button').count()).toBe(0);
    await page.getByText('0 of 2 · 2 left').last().waitFor();
    await createClient({ baseUrl: tested.url, ticket: own.ticket }).upload(new File(['Ahoy'], 'ahoy.txt'));
    await page.getByText('1 of 2 · 1 left').waitFor();
    expect(await findFlaws(page)).toEqual([]);
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });
});
