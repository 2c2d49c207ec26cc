import { readFile } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ConsoleUnderTest, findFlaws, startConsole, triesJourneys } from './console-page.ts';

let cadiz: ConsoleUnderTest;

beforeAll(async () => {
  if (triesJourneys) cadiz = await startConsole();
});
afterAll(async () => {
  if (triesJourneys) await cadiz.stop();
});

/** What the rows of events say, without the heads of days. */
async function rowsOf(page: Page): Promise<string[][]> {
  const rows = await page.locator('tbody tr:has(td)').all();
  return Promise.all(rows.map((row) => row.locator('td').allInnerTexts()));
}

async function download(page: Page, format: 'CSV' | 'JSON'): Promise<string> {
  const coming = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Export' }).click();
  await page.getByRole('menuitem', { name: format }).click();
  return readFile(await (await coming).path(), 'utf8');
}

describe.runIf(triesJourneys)('the audit of a project', () => {
  test('says who did what, with names, and shows the one event with its address', async () => {
    const projectId = await cadiz.createProject('Watched photos');
    await cadiz.ask('POST', `/api/projects/${projectId}/invitations`, { email: 'kim@example.com', role: 'editor' });
    await cadiz.ask('POST', '/api/api-keys', { name: 'Previews', projectId });
    const { id } = await cadiz.ask<{ id: string }>('POST', '/api/storage/folders', {
      projectId,
      parentId: null,
      name: '=Retouched',
    });
    await cadiz.ask('DELETE', `/api/storage/folders/${id}?projectId=${projectId}`);
    await cadiz.openAsMember(projectId, 'viewer', '/');
    const page = await cadiz.openAsOwner(`/projects/${projectId}/files`);
    await page.getByRole('link', { name: 'Audit' }).click();
    await page.getByText('Project created: Watched photos').waitFor();
    const rows = await rowsOf(page);
    expect(rows.map(([, who, what, type]) => [who, what, type])).toEqual([
      [expect.stringContaining('Vera the viewer'), 'Member joined: Vera the viewer · Viewer', 'member.added'],
      [
        expect.stringContaining('Ada Example'),
        expect.stringMatching(/^Invited: viewer-[\w-]+@example\.com · Viewer$/),
        'invitation.created',
      ],
      [expect.stringContaining('Ada Example'), 'Folder deleted: =Retouched · 1 folder', 'folder.deleted'],
      [expect.stringContaining('Ada Example'), 'API key created: Previews', 'api_key.created'],
      [expect.stringContaining('Ada Example'), 'Invited: kim@example.com · Editor', 'invitation.created'],
      [expect.stringContaining('Ada Example'), 'Project created: Watched photos', 'project.created'],
    ]);
    expect(await findFlaws(page)).toEqual([]);

    await page.getByRole('button', { name: 'API key created: Previews' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('api_key.created').waitFor();
    await dialog.getByText(/^(127\.0\.0\.1|::1)$/).waitFor();
    await dialog.getByText('apiKeyId', { exact: true }).waitFor();
    await dialog.getByRole('button', { name: 'Copy: Request id' }).waitFor();
    expect(await findFlaws(page)).toEqual([]);
    await page.keyboard.press('Escape');
    await expect.poll(() => page.evaluate('document.activeElement.innerText')).toBe('API key created: Previews');

    // Only what is shown is exported, and a name that a spreadsheet would take for a formula is none in the table.
    await page.getByLabel('Kind').selectOption('folder');
    await page.getByText('1 of the 6 newest events').waitFor();
    const [head, line] = (await download(page, 'CSV')).split('\r\n');
    expect(head).toBe('at,type,who,userId,apiKeyId,ip,subject,id,requestId');
    expect(line).toMatch(/^[^,]+,folder\.deleted,Ada Example,/);
    expect(JSON.parse(await download(page, 'JSON'))).toEqual([
      expect.objectContaining({ type: 'folder.deleted', subject: expect.objectContaining({ name: '=Retouched' }) }),
    ]);

    await page.getByLabel('Kind').selectOption('');
    await page.getByLabel('Who').selectOption({ label: 'Vera the viewer' });
    await page.getByText('1 of the 6 newest events').waitFor();
    // The filters stand in the address.
    await page.reload();
    await page.getByText('1 of the 6 newest events').waitFor();
    await page.getByLabel('To day').fill('2020-01-01');
    await page.getByRole('heading', { name: 'No events' }).waitFor();
    expect(await findFlaws(page)).toEqual([]);
    await page.getByRole('button', { name: 'Clear filters' }).click();
    await page.getByText('6 events', { exact: true }).waitFor();
  });

  test('goes on to older events, also in search of some', async () => {
    const projectId = await cadiz.createProject('Busy photos');
    for (let change = 0; change < 110; change++)
      await cadiz.ask('PATCH', `/api/projects/${projectId}`, { name: `Busy photos ${change}` });
    const page = await cadiz.openAsOwner(`/projects/${projectId}/audit`);
    await page.getByText('100 events', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Show older events' }).click();
    await page.getByText('111 events', { exact: true }).waitFor();
    expect(await page.getByRole('button', { name: 'Show older events' }).count()).toBe(0);
    await page.goto(`${cadiz.url}/projects/${projectId}/audit?kind=invitation`);
    await page.getByText('None of the 100 newest events', { exact: false }).waitFor();
    await page.getByRole('button', { name: 'Search older events' }).click();
    await page.getByText('None of the 111 newest events', { exact: false }).waitFor();
    await page.goto(`${cadiz.url}/projects/${projectId}/audit?from=2000-01-01`);
    await page.getByRole('button', { name: 'Search older events' }).click();
    await page.getByText('111 of the 111 newest events').waitFor();
  });

  test('tells others than owners why they see nothing, and says what went wrong', async () => {
    const projectId = await cadiz.createProject('Hidden photos');
    for (const role of ['editor', 'viewer'] as const) {
      const page = await cadiz.openAsMember(projectId, role, `/projects/${projectId}/audit`);
      await page.getByRole('heading', { name: 'Only owners see the audit' }).waitFor();
      expect(await findFlaws(page)).toEqual([]);
    }
    const owner = await cadiz.openAsOwner('/projects');
    const elsewhere = projectId.replace(/.{4}$/, '0000');
    await owner.route('**/audit', (route) =>
      route.request().resourceType() === 'fetch'
        ? route.continue({ url: route.request().url().replace(projectId, elsewhere) })
        : route.continue(),
    );
    await owner.goto(`${cadiz.url}/projects/${projectId}/audit`);
    const note = owner.getByRole('alert');
    await note.getByText('project_not_found').waitFor();
    await note.getByText('Request id').waitFor();
    await owner.unroute('**/audit');
    await note.getByRole('button', { name: 'Retry' }).click();
    await owner.getByText('Project created: Hidden photos').waitFor();
  });
});

test.runIf(triesJourneys)('no page has complained', () => {
  expect(cadiz.complaints).toEqual([]);
});
