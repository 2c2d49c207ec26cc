import { expect, onTestFinished, test } from 'vitest';
import { email, findBarriers, hasBrowser, password, startConsole } from './console-page.ts';

test.runIf(hasBrowser)(
  'from the printed link to a project and its first file, by keyboard, in German and in English',
  async () => {
    const tested = await startConsole();
    onTestFinished(() => tested.stop());
    const page = await tested.openPage();
    // As `npm start` prints it.
    const link = /\S+\/setup#\S+/.exec(tested.service.welcome)?.[0] ?? '';
    await page.goto(link);
    await page.getByRole('heading', { name: 'Set up Cadiz' }).waitFor();
    expect(page.url()).toBe(`${tested.url}/setup`);
    expect(await findBarriers(page)).toEqual([]);
    // The first field has the focus.
    await page.keyboard.type('Ada Example');
    await page.keyboard.press('Tab');
    await page.keyboard.type(email);
    await page.keyboard.press('Tab');
    await page.keyboard.type(password);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Name your first project' }).waitFor();
    const stepsOf = () => page.getByRole('list', { name: 'Step 2 of 3' }).getByRole('listitem').allInnerTexts();
    // What is done has a check in the place of its number.
    expect(await stepsOf()).toEqual(['Account', '2\nProject', '3\nFirst upload']);
    await page.keyboard.type('Harbour Journal');
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/projects\/[^/]+\/files/);
    // The first file, and the code that would upload another.
    await page.getByText('Or from your code').waitFor();
    expect(await stepsOf()).toEqual(['Project', '2\nFirst upload', '3\nA key for your app']);
    // What is above a list has no use yet.
    expect(await page.getByRole('button', { name: 'Grid' }).count()).toBe(0);
    await page.getByRole('tab', { name: 'React' }).click();
    expect(await page.getByRole('tabpanel').innerText()).toContain('useUploads(cadiz)');
    expect(await findBarriers(page)).toEqual([]);
    const [chooser] = await Promise.all([
      page.waitForEvent('filechooser'),
      page.getByRole('button', { name: 'Choose files' }).click(),
    ]);
    await chooser.setFiles({ name: 'first.txt', mimeType: 'text/plain', buffer: Buffer.from('Ahoy') });
    await page.getByRole('link', { name: 'first.txt', exact: true }).waitFor();
    expect(await page.getByRole('list', { name: 'Step 2 of 3' }).count()).toBe(0);
    // The link works once, also in a browser that nobody is signed in with.
    const other = await tested.openPage();
    await other.goto(link);
    await other.getByRole('heading', { name: 'Sign in' }).waitFor();
    await other.context().close();
    // Whoever has one project lands in it.
    await page.goto(tested.url);
    await page.waitForURL(/\/projects\/[^/]+\/files/);
    await page.getByRole('button', { name: 'Ada Example' }).click();
    await page.getByRole('menuitemradio', { name: 'Deutsch' }).click();
    await page.getByRole('link', { name: 'Papierkorb' }).waitFor();
    await page.getByRole('button', { name: 'Ada Example' }).click();
    await page.getByRole('menuitem', { name: 'Abmelden' }).click();
    await page.getByRole('heading', { name: 'Anmelden' }).waitFor();
    expect(tested.complaints).toEqual([]);
  },
);
