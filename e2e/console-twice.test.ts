import { createClient } from '@cadiz/client';
import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ConsoleUnderTest, createHold, startConsole, triesJourneys, untilFollowing } from './console-page.ts';

let tested: ConsoleUnderTest;

beforeAll(async () => {
  if (triesJourneys) tested = await startConsole();
});

afterAll(async () => {
  if (triesJourneys) await tested.stop();
});

async function openProject(name: string) {
  const projectId = await tested.createProject(name);
  const { key } = await tested.ask<{ key: string }>('POST', '/api/api-keys', {
    name: 'Look',
    projectId,
    scopes: ['files:read', 'files:write', 'files:delete'],
  });
  return { projectId, cadiz: createClient({ baseUrl: tested.url, apiKey: key }) };
}

const toFile = (name: string) => new File([name], name, { type: 'text/plain' });
const openFiles = (projectId: string) => tested.openAsOwner(`/projects/${projectId}/files`);

/** Clicks twice at one point, the second time once something has happened. */
async function clickTwice(page: Page, button: Locator, happened: () => Promise<unknown>): Promise<void> {
  await button.hover();
  for (const clickCount of [1, 2]) {
    await page.mouse.down({ clickCount });
    await page.mouse.up({ clickCount });
    await happened();
  }
}

describe.runIf(triesJourneys)('whoever clicks twice', () => {
  test('creates one project, and one link', async () => {
    const page = await tested.openAsOwner('/projects/new');
    await page.getByLabel('Project name').fill('Clicked twice');
    await page.getByRole('button', { name: 'Create project' }).dblclick();
    await page.getByText('Drop files or folders here').waitFor();
    const { projects } = await tested.ask<{ projects: { id: string; name: string }[] }>('GET', '/api/projects');
    const [project, ...others] = projects.filter(({ name }) => name === 'Clicked twice');
    expect(others).toEqual([]);
    const projectId = project?.id ?? '';
    await page
      .locator('input[type=file]')
      .first()
      .setInputFiles({ name: 'a.txt', mimeType: 'text/plain', buffer: Buffer.from('a') });
    await page.getByRole('link', { name: 'a.txt', exact: true }).click();
    await page.getByRole('button', { name: 'Create a link and copy it' }).dblclick();
    await page.getByRole('button', { name: 'Revoke' }).first().waitFor();
    const links = await tested.ask<{ links: unknown[] }>('GET', `/api/storage/links?projectId=${projectId}`);
    expect(links.links).toHaveLength(1);
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('withdraws an invitation once, and sees meanwhile that it is being done', async () => {
    const { projectId } = await openProject('Slow');
    const invitations = `/api/projects/${projectId}/invitations`;
    await tested.ask('POST', invitations, { email: 'ada@example.com', role: 'viewer' });
    const page = await tested.openAsOwner(`/projects/${projectId}/members`);
    const hold = createHold();
    let asked = 0;
    await page.route(`**${invitations}/*`, async (route) => {
      asked++;
      await hold.over;
      await route.continue();
    });
    const withdraw = page.getByRole('button', { name: /^Withdraw/ });
    await withdraw.click();
    await page.locator('button[aria-busy=true]').waitFor();
    await withdraw.press('Enter');
    hold.release();
    await withdraw.waitFor({ state: 'detached' });
    expect(asked).toBe(1);
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('does so to one thing, and not to what takes its place', async () => {
    const { projectId, cadiz } = await openProject('Taken back once');
    for (const name of ['ada', 'bert', 'cleo'])
      await tested.ask('POST', `/api/projects/${projectId}/invitations`, {
        email: `${name}@example.com`,
        role: 'viewer',
      });
    const page = await tested.openAsOwner(`/projects/${projectId}/members`);
    const withdraw = page.getByRole('button', { name: /^Withdraw/ });
    await withdraw.nth(2).waitFor();
    await clickTwice(page, withdraw.first(), () => expect.poll(() => withdraw.count()).toBe(2));
    for (const name of ['a.txt', 'b.txt', 'c.txt']) await cadiz.files.delete((await cadiz.upload(toFile(name))).id);
    await page.getByRole('link', { name: 'Trash' }).click();
    const restore = page.getByRole('button', { name: 'Restore' });
    await restore.nth(2).waitFor();
    await clickTwice(page, restore.first(), () => expect.poll(() => restore.count()).toBe(2));
    const { invitations } = await tested.ask<{ invitations: unknown[] }>(
      'GET',
      `/api/projects/${projectId}/invitations`,
    );
    expect(invitations).toHaveLength(2);
    expect((await cadiz.trash.page()).items).toHaveLength(2);
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });
});

/** Keeps requests like the next one waiting. @returns what lets them go */
async function hold(page: Page, path: string, method = 'POST'): Promise<() => void> {
  const { over, release } = createHold();
  await page.route(`**${path}`, async (route) => {
    if (route.request().method() === method) await over;
    await route.continue();
  });
  return release;
}

/** Sends what a dialog asks for, and closes it before there is an answer. */
async function sendAndClose(page: Page, dialog: Locator): Promise<void> {
  await page.keyboard.press('Enter');
  await dialog.locator('[aria-busy=true]').waitFor();
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  await page.getByText('Cadiz has not answered yet.').waitFor();
}

describe.runIf(triesJourneys)('whoever does one thing soon after another', () => {
  test('sees nothing of what is being deleted, whatever is read meanwhile, until that is refused', async () => {
    const { projectId, cadiz } = await openProject('Deleted one after the other');
    for (const name of ['a.txt', 'b.txt']) await cadiz.upload(toFile(name));
    const page = await openFiles(projectId);
    const remove = async (name: string) => {
      await page.getByRole('row', { name }).click();
      await page.keyboard.press('Delete');
      await page.getByRole('link', { name }).waitFor({ state: 'detached' });
    };
    const { over, release } = createHold();
    await page.route('**/api/storage/bulk', async (route) => {
      await over;
      const body = { title: 'No', status: 409, detail: 'Not this one.', code: 'folder_not_empty' };
      await route.fulfill({ status: 409, contentType: 'application/problem+json', json: body });
    });
    await remove('a.txt');
    await cadiz.upload(toFile('c.txt'));
    await page.getByRole('link', { name: 'c.txt' }).waitFor();
    expect(await page.getByRole('link', { name: 'a.txt' }).count()).toBe(0);
    await page.getByText('2 items', { exact: true }).waitFor();
    release();
    await page.getByText('Not this one.').waitFor();
    await page.getByRole('link', { name: 'a.txt' }).waitFor();
    await page.getByText('3 items', { exact: true }).waitFor();
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });
});

describe.runIf(triesJourneys)('whoever closes a dialog before there is an answer', () => {
  test('keeps what is typed in the next one, and is told why the first was refused', async () => {
    const { projectId } = await openProject('Sent and closed');
    const page = await openFiles(projectId);
    const dialog = page.getByRole('dialog', { name: 'New folder' });
    const type = async (name: string) => {
      await page.getByRole('button', { name: 'New folder' }).click();
      await dialog.getByRole('textbox').fill(name);
    };
    const answer = await hold(page, '/api/storage/folders');
    await type('First');
    await sendAndClose(page, dialog);
    await type('Second');
    answer();
    await page.getByRole('link', { name: 'First', includeHidden: true }).waitFor();
    expect(await dialog.count()).toBe(1);
    expect(await dialog.getByRole('textbox').inputValue()).toBe('Second');
    const refuse = await hold(page, '/api/storage/folders');
    await dialog.getByRole('textbox').fill('first');
    await sendAndClose(page, dialog);
    refuse();
    await page.getByText('There is already a folder named').waitFor();
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('is shown the secret all the same, once nothing else is open, and led nowhere before', async () => {
    const { projectId } = await openProject('Secrets that come late');
    const page = await tested.openAsOwner(`/projects/${projectId}/members`);
    await page.getByRole('link', { name: 'API keys' }).click();
    const dialog = page.getByRole('dialog', { name: 'Create key' });
    const name = dialog.getByRole('textbox', { name: 'Name' });
    const create = page.getByRole('button', { name: 'Create key' }).first();
    const answer = await hold(page, '/api/api-keys');
    await create.click();
    await name.fill('First');
    await page.keyboard.press('Enter');
    await dialog.locator('[aria-busy=true]').waitFor();
    await page.evaluate(() => history.back());
    await page.getByText('Cadiz has not answered yet.').waitFor();
    expect(page.url()).toMatch(/keys$/);
    const asked = page.waitForEvent('dialog');
    const reloading = page.reload({ timeout: 5000 }).catch(() => undefined);
    await (await asked).dismiss();
    await reloading;
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    await create.click();
    await name.fill('Second');
    answer();
    await page.locator('.key-table').getByText('First').waitFor();
    expect(await dialog.count()).toBe(1);
    expect(await name.inputValue()).toBe('Second');
    // Nor does the second secret take the place of the first.
    await page.keyboard.press('Enter');
    await page.locator('.key-table').getByText('Second').waitFor();
    const secrets: string[] = [];
    for (let nth = 0; nth < 2; nth++) {
      const shown = page.locator('.secret code');
      await expect.poll(() => shown.textContent()).not.toBe(secrets[0]);
      secrets.push((await shown.textContent()) ?? '');
      for (const word of ['Close without copying', 'Close anyway'])
        await page.getByRole('dialog').getByRole('button', { name: word }).click();
    }
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    expect(new Set(secrets).size).toBe(2);
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('is shown the link of an invitation, and does not leave that by accident', async () => {
    const { projectId } = await openProject('A late link');
    const page = await tested.openAsOwner(`/projects/${projectId}/keys`);
    await page.getByRole('link', { name: 'Members' }).click();
    const dialog = page.getByRole('dialog', { name: 'Invite' });
    const answer = await hold(page, `/api/projects/${projectId}/invitations`);
    await page.getByRole('button', { name: 'Invite' }).click();
    await dialog.getByLabel('E-mail').fill('grace@example.com');
    await sendAndClose(page, dialog);
    answer();
    await dialog.locator('code').getByText('/invitation#').waitFor();
    await page.evaluate(() => history.back());
    await dialog.getByText('Nobody can show you this link again.').waitFor();
    expect(page.url()).toMatch(/members$/);
    await dialog.getByRole('button', { name: 'Close anyway' }).click();
    await dialog.waitFor({ state: 'detached' });
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('stays where it has gone meanwhile', async () => {
    const page = await tested.openAsOwner('/projects/new');
    const answer = await hold(page, '/api/projects');
    await page.getByLabel('Project name').fill('Created late');
    await page.keyboard.press('Enter');
    await page.locator('[aria-busy=true]').waitFor();
    await page.getByRole('link', { name: 'Cancel' }).click();
    await page.getByRole('heading', { name: 'Projects', level: 1 }).waitFor();
    answer();
    await page.getByRole('link', { name: 'Created late' }).waitFor();
    // Wherever it would have been led, it is by the time that this has opened.
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor();
    expect(new URL(page.url()).pathname).toBe('/projects');
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });
});

describe.runIf(triesJourneys)('whoever has no network', () => {
  test('is told so when something is refused for that, and not what the browser calls it', async () => {
    const { projectId, cadiz } = await openProject('Cut off');
    await cadiz.upload(toFile('a.txt'));
    const page = await openFiles(projectId);
    await page.route('**/api/storage/**', (route) =>
      route.request().method() === 'GET' ? route.continue() : route.abort(),
    );
    await page.getByRole('row', { name: 'a.txt' }).click();
    await page.keyboard.press('Delete');
    await page.getByText('Cadiz could not be reached. Try again in a moment.').waitFor();
    await page.getByRole('link', { name: 'a.txt' }).waitFor();
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });
});

describe.runIf(triesJourneys)('whoever goes back, comes again or has two windows', () => {
  test('finds no dialog of another screen', async () => {
    const { projectId } = await openProject('Left by Back');
    const { projectId: other } = await openProject('Opened after it');
    const page = await tested.openAsOwner('/projects');
    await page.getByRole('link', { name: 'Left by Back' }).click();
    await page.getByRole('button', { name: 'New folder' }).click();
    await page.getByRole('dialog').waitFor();
    await page.goBack();
    await page.getByRole('heading', { name: 'Projects', level: 1 }).waitFor();
    await page.getByRole('link', { name: 'Opened after it' }).click();
    await page.waitForURL(new RegExp(other));
    await page.getByText('Drop files or folders here').waitFor();
    // Whatever was about to be shown has been by the time that another has opened and closed.
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor();
    await page.keyboard.press('Escape');
    await expect.poll(() => page.getByRole('dialog').count()).toBe(0);
    expect(page.url()).not.toContain(projectId);
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('is not asked for another key when one has been created from the palette', async () => {
    const { projectId } = await openProject('One key');
    const page = await openFiles(projectId);
    await page.getByText('Drop files or folders here').waitFor();
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: /Search files/ }).fill('Create API key');
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').getByRole('textbox', { name: 'Name' }).fill('Website');
    await page.keyboard.press('Enter');
    for (const name of ['Close without copying', 'Close anyway']) {
      await page.getByRole('dialog').getByRole('button', { name }).click();
    }
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    // Another would have taken its place by the time that the page answers.
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor();
    expect(await page.getByRole('dialog').count()).toBe(1);
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('sees a file by the name that it was given meanwhile', async () => {
    const { projectId, cadiz } = await openProject('Renamed');
    await cadiz.upload(toFile('old.txt'));
    const page = await openFiles(projectId);
    const title = page.locator('.view > header .name');
    await page.getByRole('link', { name: 'old.txt' }).click();
    await expect.poll(() => title.textContent()).toBe('old.txt');
    await page.keyboard.press('Escape');
    await title.waitFor({ state: 'detached' });
    await page.keyboard.press('F2');
    await page.getByLabel('New name').fill('new.txt');
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: 'new.txt' }).click();
    await title.waitFor();
    expect(await title.textContent()).toBe('new.txt');
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('sees in one window what was done in the other', async () => {
    const { projectId, cadiz } = await openProject('In two windows');
    await cadiz.upload(toFile('a.txt'));
    const { id } = await cadiz.upload(toFile('b.txt'));
    const { id: next } = await cadiz.upload(toFile('c.txt'));
    const page = await openFiles(projectId);
    await page.getByRole('link', { name: 'b.txt' }).click();
    await page.locator('.text-stage').waitFor();
    await tested.ask('DELETE', `/api/storage/files/${id}`);
    await page.getByRole('heading', { name: 'This file is not here' }).waitFor();
    await tested.ask('DELETE', `/api/storage/trash?projectId=${projectId}`);
    await page.keyboard.press('Escape');
    const other = await tested.openAsOwner(`/projects/${projectId}/trash`);
    await other.getByText('The trash is empty').waitFor();
    await page.getByRole('row', { name: 'a.txt' }).click();
    await page.keyboard.press('Delete');
    await other.getByRole('button', { name: 'Restore' }).waitFor({ timeout: 60_000 });
    // Also just after something was done there.
    await other.getByRole('button', { name: 'Restore' }).click();
    await other.getByText('The trash is empty').waitFor();
    await tested.ask('DELETE', `/api/storage/files/${next}`);
    await other.getByRole('button', { name: 'Restore' }).waitFor();
    expect(tested.complaints).toEqual([]);
    await page.context().close();
    await other.context().close();
  });

  test('is offered nothing any more that was refused for another role', async () => {
    const { projectId, cadiz } = await openProject('Of another role');
    await cadiz.upload(toFile('a.txt'));
    const page = await tested.openAsMember(projectId, 'editor', `/projects/${projectId}/files`);
    const upload = page.getByRole('button', { name: 'Upload' });
    await upload.waitFor();
    const members = `/api/projects/${projectId}/members`;
    const { members: all } = await tested.ask<{ members: { userId: string; role: string }[] }>('GET', members);
    const editor = all.find(({ role }) => role === 'editor');
    await tested.ask('PATCH', `${members}/${editor?.userId}`, { role: 'viewer' });
    await page.getByRole('row', { name: 'a.txt' }).click();
    await page.keyboard.press('Delete');
    await page.getByText('The role viewer does not allow this').waitFor();
    await upload.waitFor({ state: 'detached', timeout: 60_000 });
    await page.getByRole('link', { name: 'a.txt' }).waitFor();
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('is told why an invitation is refused that was begun in another role', async () => {
    const { projectId } = await openProject('No longer an owner');
    const page = await tested.openAsMember(projectId, 'editor', '/account');
    const members = `/api/projects/${projectId}/members`;
    const { members: all } = await tested.ask<{ members: { userId: string; role: string }[] }>('GET', members);
    const member = `${members}/${all.find(({ role }) => role === 'editor')?.userId}`;
    await tested.ask('PATCH', member, { role: 'owner' });
    await page.goto(`${tested.url}/projects/${projectId}/members`);
    await page.getByRole('button', { name: 'Invite' }).click();
    const dialog = page.getByRole('dialog', { name: 'Invite' });
    await dialog.getByLabel('E-mail').fill('grace@example.com');
    await tested.ask('PATCH', member, { role: 'viewer' });
    await page.keyboard.press('Enter');
    // The page knows by then.
    await page.locator('.bar .btn.main').waitFor({ state: 'detached' });
    await dialog.getByText('The role viewer does not allow this').waitFor({ timeout: 10_000 });
    expect(await dialog.getByLabel('E-mail').inputValue()).toBe('grace@example.com');
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('is told that a project is gone when a dialog or an upload is refused for that', async () => {
    const { projectId } = await openProject('Deleted by another');
    const page = await tested.openAsMember(projectId, 'editor', `/projects/${projectId}/files`);
    const uploading = await tested.openAsMember(projectId, 'editor', `/projects/${projectId}/files`);
    await uploading.getByText('Drop files or folders here').waitFor();
    await page.getByRole('button', { name: 'New folder' }).click();
    const dialog = page.getByRole('dialog', { name: 'New folder' });
    await dialog.getByRole('textbox').fill('Typed');
    // Nothing is read again by itself.
    let waiting = 0;
    for (const one of [page, uploading]) {
      await one.route(
        ({ pathname, searchParams }) => pathname === '/api/storage/list' && searchParams.has('counts'),
        () => undefined,
      );
      await one.route(
        ({ pathname }) => pathname === '/api/storage/events',
        () => {
          waiting += 1;
        },
      );
    }
    // The requests that are waiting for events already would learn it: this ends them.
    await tested.ask('POST', '/api/storage/folders', { projectId, name: 'Another', parentId: null });
    await expect.poll(() => waiting).toBe(2);
    await tested.ask('DELETE', `/api/projects/${projectId}`);
    // At once, before anything that is read now and then says so.
    await uploading
      .locator('input[type=file]')
      .first()
      .setInputFiles({ name: 'a.txt', mimeType: 'text/plain', buffer: Buffer.from('a') });
    await dialog.getByRole('button', { name: 'Create' }).click();
    await dialog.getByText('There is no such project').waitFor();
    await page.getByRole('heading', { name: 'There is no such project', includeHidden: true }).first().waitFor();
    await uploading.getByRole('heading', { name: 'There is no such project' }).first().waitFor();
    expect(await uploading.getByRole('button', { name: 'New folder' }).count()).toBe(0);
    expect(tested.complaints).toEqual([]);
    await page.context().close();
    await uploading.context().close();
  });

  test('keeps what is typed while somebody else changes the settings', async () => {
    const { projectId } = await openProject('Changed by two');
    const page = await tested.openAsOwner(`/projects/${projectId}/settings`);
    const name = page.getByLabel('Name', { exact: true });
    const quota = page.getByLabel('All files together', { exact: true });
    await name.fill('Typed here');
    await untilFollowing(page);
    await tested.ask('PATCH', `/api/projects/${projectId}`, { quotaBytes: 5e9, name: 'Typed elsewhere' });
    await expect.poll(() => quota.inputValue(), { timeout: 60_000 }).toBe('5');
    await page.getByTitle('Switch project').getByText('Typed elsewhere').waitFor();
    expect(await name.inputValue()).toBe('Typed here');
    await page.getByText('Name: Typed here', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('Settings saved.').waitFor();
    const project = await tested.ask('GET', `/api/projects/${projectId}`);
    expect(project).toMatchObject({ name: 'Typed here', quotaBytes: 5e9 });
    await page.getByText('Not saved').waitFor({ state: 'detached' });
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });
});
