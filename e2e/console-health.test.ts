import type { Answer } from '@cadiz/contract';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ConsoleUnderTest, findFlaws, password, startConsole, triesJourneys } from './console-page.ts';

let cadiz: ConsoleUnderTest;

beforeAll(async () => {
  if (triesJourneys) cadiz = await startConsole({ CADIZ_SIGN_UP: 'open' });
});
afterAll(async () => {
  if (triesJourneys) await cadiz.stop();
});

/** Somebody with an account of their own. @returns a page in which they are signed in */
async function signUp(name: string): Promise<Page> {
  const page = await cadiz.openPage();
  const data = { name, email: `${name.toLowerCase()}@example.com`, password };
  const answer = await page.context().request.post(`${cadiz.url}/api/auth/sign-up/email`, { data });
  expect(answer.status()).toBe(200);
  return page;
}

async function actOn(page: Page, name: string, action: string): Promise<void> {
  await page.getByRole('button', { name: `More actions for ${name}` }).click();
  await page.getByRole('menuitem', { name: action }).click();
}

describe.runIf(triesJourneys)('the health of the service', () => {
  test('says what answers, what the doctor finds once it is sent, and what the service does by itself', async () => {
    const page = await cadiz.openAsOwner('/account');
    await page.getByRole('link', { name: 'System health' }).click();
    await page.getByRole('heading', { name: 'Not checked yet' }).waitFor();
    const { version } = await cadiz.ask<{ version: string }>('GET', '/api/system');
    await page.locator('.fig').getByText(version, { exact: true }).waitFor();
    expect(await page.locator('.fig .dot.ok').count()).toBe(4);
    await page.getByText('Remove objects without a file').waitFor();
    await page.getByText('Nothing was given up.').waitFor();
    expect(await findFlaws(page)).toEqual([]);

    await page.getByRole('button', { name: 'Check now' }).click();
    await page.locator('.badge.ok').waitFor({ timeout: 90_000 });
    const { doctor } = await cadiz.ask<Answer<'getSystem'>>('GET', '/api/system');
    const ok = doctor.findings.filter(({ status }) => status === 'ok');
    await page.locator('.badge').getByText(`${ok.length} ok`, { exact: true }).waitFor();
    for (const { title, mend } of doctor.findings.filter(({ status }) => status === 'failed' || status === 'warning')) {
      const finding = page.getByRole('article').filter({ hasText: title });
      await finding.waitFor();
      expect(mend === null || (await finding.locator('.fix').innerText()).length > 0).toBe(true);
    }
    await page
      .locator('summary')
      .filter({ hasText: ok[0]?.section ?? '' })
      .click();
    await page.getByText(ok[0]?.title ?? '', { exact: true }).waitFor();
    expect(await findFlaws(page)).toEqual([]);
    // The address opens the page again.
    await page.reload();
    await page.locator('.badge').getByText(`${ok.length} ok`, { exact: true }).waitFor();
  });

  test('shows first what is to be mended, which jobs fail, and what was given up', async () => {
    const page = await cadiz.openAsOwner('/projects');
    const at = new Date().toISOString();
    let asked = 0;
    await page.route('**/api/system', async (route) => {
      asked++;
      const answer = await route.fetch();
      const system = (await answer.json()) as Answer<'getSystem'>;
      const found = { section: 'Browsers', found: 'It is told 403.' };
      const fix = 'Run `npm run doctor -- --fix`, which adds a CORS rule.';
      const changed: Answer<'getSystem'> = {
        ...system,
        doctor: {
          running: false,
          startedAt: at,
          finishedAt: at,
          findings: [
            { ...found, id: 'a', title: 'A page may read', status: 'ok', mend: null },
            { ...found, id: 'b', title: 'A page may ask', status: 'skipped', mend: null },
            { ...found, id: 'c', title: 'An address works once', status: 'warning', mend: 'Keep it short.' },
            { ...found, id: 'd', title: 'A page may upload', status: 'failed', mend: fix },
          ],
        },
        jobs: system.jobs.map((job) =>
          job.name === 'sweep'
            ? { ...job, lastSuccessAt: null, lastError: { at, message: 'The store said no.' } }
            : job,
        ),
        deadLetters: {
          count: 12,
          newest: [
            {
              kind: 'check_kind',
              projectId: '0190d3a0-0000-7000-8000-000000000000',
              subject: '0190d3a0-0000-7000-8000-000000000001',
              attempts: 20,
              diedAt: at,
              error: 'The object is gone.',
            },
          ],
        },
      };
      await route.fulfill({ json: changed });
    });
    // What has failed is counted beside the way there, without being asked for on each page.
    await page.goto(`${cadiz.url}/projects`);
    const way = page.getByRole('link', { name: 'System health 1 failed' });
    await way.waitFor();
    await page.getByRole('button', { name: 'Search or jump to' }).click();
    await page.getByRole('combobox').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('combobox').waitFor({ state: 'detached' });
    expect(await findFlaws(page)).toEqual([]);
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox').fill('Account');
    await page.keyboard.press('Enter');
    await page.getByRole('navigation', { name: 'Service' }).waitFor();
    await way.waitFor();
    await page.getByRole('link', { name: 'People' }).click();
    await page.getByRole('heading', { name: 'People' }).waitFor();
    expect(asked).toBe(1);
    await way.click();
    await page.getByRole('main').getByText('1 failed').waitFor();
    const findings = await page.getByRole('article').allInnerTexts();
    expect(findings.map((finding) => finding.split('\n')[0])).toEqual(['A page may upload', 'An address works once']);
    await page.getByRole('button', { name: 'Copy: npm run doctor -- --fix' }).waitFor();
    await page.getByText('1 ok, 1 skipped').waitFor();
    await page.locator('.fig').getByText('1 failing').waitFor();
    await page.getByRole('row').filter({ hasText: 'The store said no.' }).getByText('failing').waitFor();
    await page.getByRole('row').filter({ hasText: 'The object is gone.' }).waitFor();
    await page.getByText('The latest 1 of 12.').waitFor();
    expect(await findFlaws(page)).toEqual([]);
  });

  test('says in German what the doctor looks at and what to do, and in English what it knows no words for', async () => {
    const page = await cadiz.openAsOwner('/projects');
    await page.evaluate(() => localStorage.setItem('cadiz.language', 'de'));
    const at = new Date().toISOString();
    await page.route('**/api/system', async (route) => {
      const system = (await (await route.fetch()).json()) as Answer<'getSystem'>;
      const found = { section: 'Access', found: 'It was seen.', status: 'failed' as const, mend: 'Mend it.' };
      const findings = [
        { ...found, id: 'region', title: 'S3_REGION is the region of the bucket' },
        { ...found, id: 'cors https://app.example.com', title: 'A page of app.example.com may read' },
        { ...found, id: 'of-a-later-version', title: 'Something new is right' },
        { ...found, id: 'clock', title: 'The clocks agree', status: 'ok' as const, mend: null },
      ];
      await route.fulfill({ json: { ...system, doctor: { running: false, startedAt: at, finishedAt: at, findings } } });
    });
    await page.goto(`${cadiz.url}/system`);
    const finding = (title: string) => page.getByRole('article').filter({ hasText: title });
    await finding('S3_REGION ist die Region des Buckets').getByText('Setze S3_REGION auf die Region').waitFor();
    await finding('Eine Seite von app.example.com darf die Antworten lesen').waitFor();
    await finding('Something new is right').getByText('Mend it.').waitFor();
    await page.locator('summary').filter({ hasText: 'Zugang' }).click();
    await page.getByText('Die Uhren von Dienst und Speicher stimmen überein').waitFor();
    expect(await findFlaws(page)).toEqual([]);
    await page.context().close();
  });

  test('tells what went wrong with the request id, and others why they see nothing', async () => {
    const page = await cadiz.openAsOwner('/projects');
    await page.route('**/api/system', (route) => route.continue({ url: `${cadiz.url}/api/nothing` }));
    await page.goto(`${cadiz.url}/system`);
    await page.getByRole('alert').getByText('Request id').waitFor();
    await page.unroute('**/api/system');
    await page.getByRole('button', { name: 'Retry' }).click();
    await page.getByRole('heading', { name: 'Jobs' }).waitFor();
    const other = await signUp('Hanna');
    for (const path of ['/system', '/users']) {
      await other.goto(cadiz.url + path);
      await other.getByRole('heading', { name: 'Only the owner of the service sees this' }).waitFor();
      expect(await other.getByRole('link', { name: 'People' }).count()).toBe(0);
      expect(await findFlaws(other)).toEqual([]);
    }
  });
});

describe.runIf(triesJourneys)('people', () => {
  test('are disabled, enabled, signed out and deleted, after a question', async () => {
    const theirs = await signUp('Ines');
    const page = await cadiz.openAsOwner('/system');
    await page.getByRole('link', { name: 'People' }).click();
    const row = page.getByRole('row').filter({ hasText: 'ines@example.com' });
    await row.locator('td').getByText('1 session').last().waitFor();
    expect(await row.getByText('E-mail not verified').count()).toBe(1);
    // The owner of the service cannot be disabled.
    expect(await page.getByRole('button', { name: 'More actions for Ada Example' }).count()).toBe(0);
    expect(await findFlaws(page)).toEqual([]);

    await actOn(page, 'Ines', 'Disable');
    expect(await findFlaws(page)).toEqual([]);
    await page.getByRole('button', { name: 'Cancel' }).click();
    expect(await row.getByText('Disabled').count()).toBe(0);
    await actOn(page, 'Ines', 'Disable');
    await page.getByRole('button', { name: 'Disable account' }).click();
    await row.getByText(/^Disabled on/).waitFor();
    await theirs.goto(`${cadiz.url}/account`);
    await theirs.getByRole('heading', { name: 'Sign in' }).waitFor();
    expect(await findFlaws(page)).toEqual([]);

    await actOn(page, 'Ines', 'Enable again');
    await page.getByRole('button', { name: 'Enable account' }).click();
    await expect.poll(() => row.getByText(/^Disabled on/).count()).toBe(0);
    const data = { email: 'ines@example.com', password };
    await theirs.context().request.post(`${cadiz.url}/api/auth/sign-in/email`, { data });
    await page.reload();
    await row.locator('td').getByText('1 session').last().waitFor();
    await actOn(page, 'Ines', 'End the sessions');
    await page.getByRole('button', { name: 'End sessions' }).click();
    await row.locator('td').getByText('none', { exact: true }).last().waitFor();

    await page.getByRole('searchbox', { name: 'Name or e-mail' }).fill('nobody at all');
    await page.getByRole('heading', { name: 'Nobody found' }).waitFor();
    await page.getByRole('searchbox', { name: 'Name or e-mail' }).fill('INES');
    await page.getByText('1 account', { exact: true }).waitFor();
    await actOn(page, 'Ines', 'Delete');
    const last = page.getByRole('button', { name: 'Delete for good' });
    expect(await last.isDisabled()).toBe(true);
    await page.getByLabel('Type ines@example.com to confirm').fill('ines@example.com');
    expect(await findFlaws(page)).toEqual([]);
    await last.click();
    await page.getByRole('heading', { name: 'Nobody found' }).waitFor();
  });

  test('who are the last owners of a project stay, and the dialog says why', async () => {
    const theirs = await signUp('Jonas');
    const answer = await theirs
      .context()
      .request.post(`${cadiz.url}/api/projects`, { data: { name: 'Lonely photos' } });
    expect(answer.ok()).toBe(true);
    const page = await cadiz.openAsOwner('/users');
    await actOn(page, 'Jonas', 'Delete');
    await page.getByLabel('Type jonas@example.com to confirm').fill('jonas@example.com');
    await page.getByRole('button', { name: 'Delete for good' }).click();
    await page.getByRole('dialog').getByText('last_owner').waitFor();
    await page.getByRole('dialog').getByText('Request id').waitFor();
    await page.keyboard.press('Escape');
    // The focus is back where the menu was opened.
    await expect
      .poll(() => page.evaluate('document.activeElement.getAttribute("aria-label")'))
      .toBe('More actions for Jonas');
  });
});

test.runIf(triesJourneys)('no page has complained', () => {
  expect(cadiz.complaints).toEqual([]);
});
