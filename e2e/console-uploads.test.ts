import { createClient } from '@cadiz/client';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ConsoleUnderTest, findBarriers, password, startConsole, triesJourneys } from './console-page.ts';

let tested: ConsoleUnderTest;

beforeAll(async () => {
  if (triesJourneys) tested = await startConsole();
});

afterAll(async () => {
  if (triesJourneys) await tested.stop();
});

const toFile = (name: string, text = `This is ${name}.`, mimeType = 'text/plain') => ({
  name,
  mimeType,
  buffer: Buffer.from(text),
});

const filesOf = (page: Page) => page.locator('input[type=file][data-folder=false]').first();
const entryOf = (page: Page, name: string) => page.getByRole('button', { name, exact: true });

async function openProject(name: string) {
  const projectId = await tested.createProject(name);
  const { key } = await tested.ask<{ key: string }>('POST', '/api/api-keys', { name: 'Look', projectId });
  const cadiz = createClient({ baseUrl: tested.url, apiKey: key });
  const page = await tested.openAsOwner(`/projects/${projectId}/files`);
  await page.getByText('Drop files or folders here').waitFor();
  return { projectId, cadiz, page };
}

type Cadiz = ReturnType<typeof createClient>;

/** What is in a folder, as its names and texts. */
async function read(cadiz: Cadiz, folder: string | null): Promise<Record<string, string>> {
  const contents: Record<string, string> = {};
  for await (const { id, fileName } of cadiz.files.list({ folder })) {
    const { url } = await cadiz.files.url(id);
    contents[fileName] = await (await fetch(url)).text();
  }
  return contents;
}

/** A folder with its children by their names, or a file with its text. */
type Tree = { [name: string]: Tree | string };

/** Drops files and folders as a browser gives them. */
async function drop(page: Page, tree: Tree): Promise<void> {
  await page.evaluate((tree) => {
    const toEntry = (path: string, content: Tree | string): object => ({
      isFile: typeof content === 'string',
      isDirectory: typeof content !== 'string',
      fullPath: path,
      file: (resolve: (file: File) => void) => resolve(new File([String(content)], path.split('/').at(-1) ?? '')),
      createReader: () => {
        let rest = Object.entries(content).map(([name, child]) => toEntry(`${path}/${name}`, child));
        return {
          readEntries(resolve: (some: object[]) => void) {
            resolve(rest.slice(0, 100));
            rest = rest.slice(100);
          },
        };
      },
    });
    const items = Object.entries(tree).map(([name, content]) => ({
      webkitGetAsEntry: () => toEntry(`/${name}`, content),
    }));
    for (const type of ['dragover', 'drop']) {
      const event = new DragEvent(type, { bubbles: true, cancelable: true });
      Object.defineProperty(event, 'dataTransfer', { value: { types: ['Files'], items } });
      document.body.dispatchEvent(event);
    }
  }, tree);
}

describe.runIf(triesJourneys)('uploads', () => {
  test('ask what becomes of names that are taken: once, or for all', async () => {
    const { cadiz, page } = await openProject('Same names');
    const names = ['a.txt', 'b.txt', 'c.txt'];
    await filesOf(page).setInputFiles(names.map((name) => toFile(name, 'old')));
    await page.getByRole('heading', { name: '3 files uploaded' }).waitFor();
    const ids = new Map<string, string>();
    for await (const { id, fileName } of cadiz.files.list({ folder: null })) ids.set(fileName, id);

    // Another case is the same name, as it is for folders.
    await filesOf(page).setInputFiles([
      toFile('A.txt', 'new'),
      ...['b.txt', 'c.txt', 'd.txt'].map((name) => toFile(name, 'new')),
    ]);
    const dialog = page.getByRole('dialog');
    await dialog.getByText('“A.txt” is here already').waitFor();
    await dialog.getByText('2 more of your 4 files').waitFor();
    expect(await findBarriers(page)).toEqual([]);
    await dialog.getByText('Yours becomes “A (2).txt”.').waitFor();
    await dialog.getByRole('button', { name: 'Keep both' }).click();
    await dialog.getByText('“b.txt” is here already').waitFor();
    await dialog.getByLabel('Replace').check();
    await dialog.getByLabel('Do the same for the other one').check();
    await dialog.getByRole('button', { name: 'Replace' }).click();
    await page.getByRole('heading', { name: '4 files uploaded' }).waitFor();
    const now = { 'a.txt': 'old', 'A (2).txt': 'new', 'b.txt': 'new', 'c.txt': 'new', 'd.txt': 'new' };
    expect(await read(cadiz, null)).toEqual(now);
    await entryOf(page, 'd.txt').waitFor();
    await page.getByText('5 items').waitFor();

    // The old ones went to the trash.
    const trashed: string[] = [];
    for await (const { id } of cadiz.trash.list()) trashed.push(id);
    expect(trashed.sort()).toEqual([ids.get('b.txt'), ids.get('c.txt')].sort());

    await filesOf(page).setInputFiles([toFile('a.txt', 'newer'), toFile('e.txt', 'new')]);
    await dialog.getByLabel('Skip').check();
    await dialog.getByRole('button', { name: 'Skip' }).click();
    await entryOf(page, 'e.txt').waitFor();
    expect(await read(cadiz, null)).toEqual({ ...now, 'e.txt': 'new' });

    // Nothing is uploaded if the question is left.
    await filesOf(page).setInputFiles([toFile('e.txt', 'newer'), toFile('f.txt', 'new')]);
    await dialog.waitFor();
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    expect(await read(cadiz, null)).toEqual({ ...now, 'e.txt': 'new' });

    // Twice in one drop, and in a folder that is there: the later one of two takes the place of the earlier one.
    await drop(page, { tree: { 'x.txt': 'first', empty: {} } });
    await page.getByRole('row', { name: /tree/ }).waitFor();
    await expect.poll(() => read(cadiz, 'tree')).toEqual({ 'x.txt': 'first' });
    await drop(page, { tree: { 'x.txt': 'second', 'X.TXT': 'third', 'y.txt': 'first' } });
    await dialog.getByText('There is a file').or(dialog.getByText('The name is taken in tree')).waitFor();
    await dialog.getByLabel('Replace').check();
    await dialog.getByLabel('Do the same for the other one').check();
    await dialog.getByRole('button', { name: 'Replace' }).click();
    await expect.poll(() => read(cadiz, 'tree')).toEqual({ 'x.txt': 'third', 'y.txt': 'first' });
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });
});
