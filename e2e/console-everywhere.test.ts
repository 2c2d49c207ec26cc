import type { BrowserContextOptions, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ConsoleUnderTest, findBarriers, startConsole, triesJourneys } from './console-page.ts';

let tested: ConsoleUnderTest;
/** The path of each screen, and what says that it is there: text, or a part of the page. */
let screens: Record<string, string>;

const longName = `${'Ein sehr langer Name ohne Ende '.repeat(6)}.txt`;

beforeAll(async () => {
  if (!triesJourneys) return;
  tested = await startConsole({ WEBHOOK_ALLOW_NETWORKS: '127.0.0.1' });
  const projectId = await tested.createProject('Harbour Journal');
  const cadiz = await tested.connect(projectId, 'Website');
  await cadiz.folders.ensure(['Interviews/2026']);
  await cadiz.uploads
    .create(['a.txt', longName, '🐟 شاطئ.txt'].map((name) => new File([name], name, { type: 'text/plain' })))
    .done();
  const { id: trashed } = await cadiz.upload(new File(['x'], 'draft.txt', { type: 'text/plain' }));
  await cadiz.files.delete(trashed);
  await cadiz.tickets.create({ maxFiles: 20, maxBytes: 1_000_000, mimeTypes: ['image/*'] });
  await tested.ask('POST', `/api/projects/${projectId}/invitations`, { email: 'grace@example.com', role: 'viewer' });
  await tested.createProject('Museum of the Sea');
  const { files } = await cadiz.files.page({ search: 'a.txt' });
  const at = `/projects/${projectId}`;
  screens = {
    projects: '/projects',
    'a new project': '/projects/new',
    'a key for the command': `/command#43121.${'x'.repeat(32)}.laptop`,
    list: `${at}/files`,
    grid: `${at}/files?view=grid`,
    search: `${at}/files?q=a&scope=project`,
    'nothing found': `${at}/files?q=nowhere`,
    preview: `${at}/files?file=${files[0]?.id}`,
    trash: `${at}/trash`,
    usage: `${at}/usage`,
    keys: `${at}/keys`,
    tickets: `${at}/tickets`,
    webhooks: `${at}/webhooks`,
    members: `${at}/members`,
    audit: `${at}/audit`,
    settings: `${at}/settings`,
    account: '/account',
    people: '/users',
    health: '/system',
    'not found': `${at}/nowhere`,
  };
});

afterAll(async () => {
  if (triesJourneys) await tested.stop();
});

const entries = ['/sign-in', '/forgot-password', '/reset-password#token', '/invitation#token', '/verify-email#token'];

/** Goes to an address, and waits until its screen is there and still. */
async function show(page: Page, path: string): Promise<void> {
  await page.goto('about:blank');
  await page.goto(tested.url + path);
  await page.locator('h1, h2').first().waitFor({ state: 'attached' });
  await page.locator('[aria-busy=true], .skel').first().waitFor({ state: 'detached' });
  await page.evaluate(() => document.fonts.ready);
  // What comes after it, such as what a preview shows.
  let before: string | undefined;
  const hasChanged = async () => {
    const shown = await page.evaluate(() => document.body.innerText);
    const changed = shown !== before;
    before = shown;
    return changed;
  };
  await expect.poll(hasChanged, { interval: 400 }).toBe(false);
  await isStill(page);
}

/** What is too large for the window, and words that do not fit into their buttons, tabs and headings. */
const findExcess = (page: Page) =>
  page.evaluate(() => {
    const found: string[] = [];
    const { scrollWidth, clientWidth, scrollHeight, clientHeight } = document.documentElement;
    if (scrollWidth > clientWidth) found.push(`${scrollWidth - clientWidth} pixels too wide`);
    // No content is that little longer than the window: something out of sight is, and makes a scrollbar for nothing.
    const below = scrollHeight - clientHeight;
    if (below > 0 && below < 4) found.push(`${below} pixels too tall`);
    for (const one of document.querySelectorAll<HTMLElement>(
      'button, a, label, th, h1, h2, h3, legend, dt, dd, small, summary',
    )) {
      const { overflow, textOverflow, position } = getComputedStyle(one);
      const isClipped = textOverflow === 'ellipsis' || position === 'absolute' || !one.checkVisibility();
      if (isClipped || one.scrollWidth <= one.clientWidth + 1 || one.clientWidth === 0) continue;
      found.push(
        `${one.tagName} ${one.className} (${overflow}) ${one.scrollWidth} > ${one.clientWidth}: ${one.innerText}`,
      );
    }
    const rem = Number.parseFloat(getComputedStyle(document.documentElement).fontSize);
    for (const one of document.querySelectorAll('.tile'))
      if (one.clientWidth < 9 * rem) found.push(`a tile of ${one.clientWidth / rem} rem`);
    // On phones, rows say how large a file is below its name.
    const [row] = document.querySelectorAll('.row');
    if (row && matchMedia('(max-width: 45em)').matches && !row.querySelector('.meta'))
      found.push(`a row in one line: ${row.textContent}`);
    for (const one of document.querySelectorAll('.clip'))
      if (getComputedStyle(one).display === 'inline') found.push(`would not be cut: ${one.outerHTML}`);
    return found;
  });

/** Lines of text that are cut above or below. */
const findLow = (page: Page) =>
  page.evaluate(() =>
    [...document.querySelectorAll<HTMLElement>('body *')]
      .filter((one) => {
        const { overflowY, display } = getComputedStyle(one);
        const isCut = (overflowY === 'hidden' || overflowY === 'clip') && display !== 'inline';
        const hasText = [...one.childNodes].some((node) => node.nodeType === 3 && node.textContent?.trim());
        return isCut && hasText && one.clientHeight > 2 && one.scrollHeight > one.clientHeight + 1;
      })
      .map((one) => `${one.tagName} ${one.className} ${one.scrollHeight} > ${one.clientHeight}: ${one.innerText}`),
  );

/** What is found in windows of these sizes, in turn; the last one stays. */
async function findAtSizes(page: Page, sizes: { width: number; height: number }[], find: () => Promise<string[]>) {
  const found: string[] = [];
  for (const size of sizes) {
    await page.setViewportSize(size);
    await isStill(page);
    found.push(...(await find()).map((one) => `${size.width}: ${one}`));
  }
  return found;
}

/** Everything that people see, once somebody has signed in and before. */
async function visitAll(options: BrowserContextOptions, visit: (page: Page) => Promise<string[]>) {
  const found: Record<string, string[]> = {};
  const page = await tested.openAsOwner('/account', { reducedMotion: 'reduce', ...options });
  const guest = await tested.openPage({ reducedMotion: 'reduce', ...options });
  const stops = [
    ...Object.entries(screens).map(([name, path]) => ({ at: page, name, path })),
    ...entries.map((path) => ({ at: guest, name: path, path })),
  ];
  for (const { at, name, path } of stops) {
    await show(at, path);
    const flaws = await visit(at);
    if (flaws.length > 0) found[name] = flaws;
  }
  await page.context().close();
  await guest.context().close();
  return found;
}

/** Waits for what has been changed to be drawn, and for what moves because of it to arrive. */
async function isStill(page: Page): Promise<void> {
  const frame = () => page.evaluate(() => new Promise((resolve) => requestAnimationFrame(resolve)));
  await frame();
  await frame();
  await expect.poll(() => page.evaluate(() => document.getAnimations().length)).toBe(0);
}

describe.runIf(triesJourneys)('every screen', () => {
  test('has nothing in anybody’s way, light and dark; Tab goes everywhere and shows where', async () => {
    const found = await visitAll({}, async (page) => {
      const flaws = await findBarriers(page);
      // What is not about colours is the same in the dark. Where colours are forced, they are not the console's.
      await page.emulateMedia({ colorScheme: 'dark' });
      await isStill(page);
      flaws.push(...(await findBarriers(page, ['color-contrast'])).map((one) => `dark: ${one}`));
      await page.emulateMedia({ colorScheme: 'light' });
      return [...flaws, ...(await tabThrough(page))];
    });
    expect(found).toEqual({});
    expect(tested.complaints).toEqual([]);
  }, 600_000);

  test('is on paper as a whole, without what leads elsewhere', async () => {
    const page = await tested.openAsOwner('/account', { colorScheme: 'dark' });
    const found: Record<string, unknown> = {};
    for (const [name, path] of Object.entries(screens)) {
      // A preview covers the list.
      if (name === 'preview') continue;
      await page.emulateMedia({ media: 'screen' });
      await show(page, path);
      await page.emulateMedia({ media: 'print' });
      const flaws = await page.evaluate(() => {
        const isHidden = (one: Element) =>
          one.scrollHeight > one.clientHeight && getComputedStyle(one).overflowY !== 'visible';
        const cut = [...document.querySelectorAll('main, main.home, .app, .sheet, .scroll, .panel')].filter(isHidden);
        const ways = [...document.querySelectorAll('.side, .skip, .tabbar')].filter((one) => one.checkVisibility());
        return [...cut, ...ways].map(({ className }) => className);
      });
      if (flaws.length > 0) found[name] = flaws;
    }
    expect(found).toEqual({});
    await page.context().close();
  }, 300_000);

  test('is on paper without what is beneath a dialog, which is there as a whole', async () => {
    const page = await tested.openAsOwner('/account', { viewport: { width: 1440, height: 300 } });
    await show(page, screens.keys ?? '');
    await page.getByRole('button', { name: 'Create key' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Expires').waitFor();
    await page.emulateMedia({ media: 'print' });
    expect(await page.locator('main, .backdrop').filter({ visible: true }).count()).toBe(0);
    const isCut = (one: Element) =>
      one.scrollHeight > one.clientHeight && getComputedStyle(one).overflowY !== 'visible';
    expect(await dialog.locator('.in').evaluate(isCut)).toBe(false);
    expect(await dialog.evaluate((one) => one.scrollHeight > innerHeight)).toBe(true);
    await page.context().close();
  });

  test('has room for its words, which are longest in German: on a wall, a tablet, enlarged, and on a small phone', async () => {
    const sizes = [
      { width: 3840, height: 2160 },
      // Little more than the sidebar takes.
      { width: 1100, height: 800 },
      { width: 900, height: 700 },
      // A window of 1440 pixels that is enlarged to 200 % has half of them.
      { width: 720, height: 450 },
      { width: 360, height: 640 },
    ];
    const found = await visitAll({ locale: 'de-DE', hasTouch: true }, async (page) => {
      const flaws = await findAtSizes(page, sizes, () => findExcess(page));
      flaws.push(...(await findBarriers(page)));
      await page.setViewportSize({ width: 1440, height: 900 });
      return flaws;
    });
    expect(found).toEqual({});
    expect(tested.complaints).toEqual([]);
  }, 600_000);

  test.each([320, 721, 800, 900, 1024, 1081, 1280, 1440])(
    'has room for names in the trash and of keys, and for figures: %i',
    async (width) => {
      const page = await tested.openAsOwner('/projects', { viewport: { width, height: 700 }, locale: 'de-DE' });
      await show(page, screens.trash ?? '');
      const name = await page.locator('.trash-table td.main').boundingBox();
      expect(name?.width).toBeGreaterThan(120);
      await show(page, screens.keys ?? '');
      expect((await page.locator('.key-table td.main').first().boundingBox())?.width).toBeGreaterThan(120);
      await show(page, screens.usage ?? '');
      const figures = page.locator('.fig dd:first-of-type');
      expect(await figures.count()).toBe(4);
      expect(await figures.evaluateAll((all) => all.filter((one) => one.scrollWidth > one.clientWidth).length)).toBe(0);
      await page.context().close();
    },
  );

  test('has in sight what can be done with keys, tickets and people', async () => {
    const projectId = await tested.createProject('In sight');
    const cadiz = await tested.connect(projectId);
    await cadiz.tickets.create({ maxFiles: 20, maxBytes: 1_000_000 });
    const guest = await tested.openAsMember(projectId, 'viewer', '/projects');
    await guest.context().close();
    const page = await tested.openAsOwner('/account', { locale: 'de-DE' });
    // A click at its middle finds it, without anything being scrolled before.
    const isInSight = (button: Element) => {
      const { x, y, width, height } = button.getBoundingClientRect();
      return button.contains(document.elementFromPoint(x + width / 2, y + height / 2));
    };
    const at = `/projects/${projectId}`;
    for (const [path, name] of [
      [`${at}/keys`, 'Aktionen für Look'],
      [`${at}/tickets`, /^Ticket von .* widerrufen$/],
      ['/users', 'Mehr Aktionen für Vera the viewer'],
    ] as const) {
      await show(page, path);
      for (const width of [721, 768, 900, 1081, 1280, 1440]) {
        await page.setViewportSize({ width, height: 700 });
        await isStill(page);
        expect(await page.getByRole('button', { name }).evaluate(isInSight), `${path} at ${width}`).toBe(true);
      }
    }
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('has room on small phones for names, and for all that can be done with them', async () => {
    const projectId = await tested.createProject('Small phones');
    const cadiz = await tested.connect(projectId);
    const name = 'Visitors 2026';
    await cadiz.folders.create(name);
    await cadiz.tickets.create({ folder: name, maxFiles: 2000, maxBytes: 100_000_000_000 });
    const { id: trashed } = await cadiz.upload(new File(['x'], `${name}.txt`, { type: 'text/plain' }));
    await cadiz.files.delete(trashed);
    await tested.ask('POST', `/api/projects/${projectId}/webhooks`, { url: 'http://127.0.0.1:20999/hook' });
    const page = await tested.openAsOwner('/account', { hasTouch: true, viewport: { width: 320, height: 700 } });
    const linesOf = (one: Locator) =>
      one.evaluate((element) =>
        Math.round(element.clientHeight / Number.parseFloat(getComputedStyle(element).lineHeight)),
      );
    const isCut = (one: Locator) => one.evaluate((element) => element.scrollWidth > element.clientWidth);

    await show(page, `/projects/${projectId}/trash`);
    expect(await isCut(page.locator('.trash-table .stem'))).toBe(false);
    expect(await linesOf(page.locator('.trash-table td.main small'))).toBe(1);
    await page.getByRole('button', { name: 'Restore' }).waitFor();
    await show(page, `/projects/${projectId}/tickets`);
    await page.locator('.ticket-table .clip').getByText(name).waitFor();
    expect(await isCut(page.locator('.ticket-table td.main .clip'))).toBe(false);
    await page.locator('.badge:visible').getByText('live').waitFor();
    await show(page, `/projects/${projectId}/webhooks`);
    const more = await page.getByRole('button', { name: 'More for http://127.0.0.1' }).boundingBox();
    expect((more?.x ?? 320) + (more?.width ?? 0)).toBeLessThanOrEqual(320 - 16);
    await show(page, '/users');
    // The words in an empty field have no box of their own.
    const room = await page.getByRole('searchbox').evaluate((field: HTMLInputElement) => {
      const drawing = document.createElement('canvas').getContext('2d');
      if (!drawing) throw new Error('This browser draws nothing.');
      drawing.font = getComputedStyle(field).font;
      return field.clientWidth - drawing.measureText(field.placeholder).width;
    });
    expect(room).toBeGreaterThan(0);

    await page.setViewportSize({ width: 1440, height: 900 });
    await show(page, `/projects/${projectId}/trash`);
    const deleted = page.locator('.trash-table td:nth-child(4)');
    expect(await deleted.getByText('with an API key').count()).toBe(1);
    await deleted.locator('time').evaluate((one) => {
      one.textContent = '59 minutes ago';
    });
    expect((await page.locator('.trash-table tbody tr').first().boundingBox())?.height).toBeLessThan(48);
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('has room for names of members, and what stands below one another is in line', async () => {
    const projectId = await tested.createProject('Members in line');
    const guest = await tested.openAsMember(projectId, 'editor', '/projects');
    await guest.context().close();
    const page = await tested.openAsOwner('/account', { viewport: { width: 768, height: 1024 } });
    await show(page, `/projects/${projectId}/members`);
    await page.getByText('Vera the editor', { exact: true }).waitFor();
    expect(
      await page
        .locator('.members .person b')
        .evaluateAll((all) => all.filter((one) => one.scrollWidth > one.clientWidth)),
    ).toEqual([]);
    for (const width of [768, 1440]) {
      await page.setViewportSize({ width, height: 900 });
      for (const column of ['.may', '.field']) {
        const lefts = await page
          .locator(`.members ${column}`)
          .evaluateAll((all) => all.map((one) => one.getBoundingClientRect().x));
        expect(lefts).toHaveLength(2);
        expect(new Set(lefts).size, `${column} at ${width}`).toBe(1);
      }
    }
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('has room for letters that are twice as large, which the browser has been set to', async () => {
    const sizes = [
      { width: 1920, height: 1080 },
      { width: 1440, height: 900 },
      { width: 900, height: 700 },
    ];
    const enlarged = new Set<Page>();
    const found = await visitAll({ hasTouch: true }, async (page) => {
      if (!enlarged.has(page)) {
        const session = await page.context().newCDPSession(page);
        await session.send('Page.setFontSizes', { fontSizes: { standard: 32 } });
        enlarged.add(page);
      }
      const flaws = await findAtSizes(page, sizes, () => findExcess(page));
      await page.setViewportSize({ width: 1440, height: 900 });
      return flaws;
    });
    expect(found).toEqual({});
    expect(tested.complaints).toEqual([]);
  }, 600_000);

  test('has room for text that readers space out (WCAG 1.4.12), also enlarged to 400 %', async () => {
    const sizes = [
      { width: 1440, height: 900 },
      { width: 900, height: 700 },
      { width: 390, height: 800 },
      // A window of 1280 by 1024 pixels that is enlarged to 400 %.
      { width: 320, height: 256 },
    ];
    const found = await visitAll({ hasTouch: true }, async (page) => {
      // As a style of the reader: the policy of the page refuses those that are added to it.
      await page.evaluate(() => {
        const sheet = new CSSStyleSheet();
        sheet.replaceSync(
          '* { line-height: 1.5 !important; letter-spacing: 0.12em !important; word-spacing: 0.16em !important } p { margin-bottom: 2em !important }',
        );
        document.adoptedStyleSheets = [sheet];
      });
      const flaws = await findAtSizes(page, sizes, async () => {
        // Tiles are as wide as two of them have room.
        const excess = (await findExcess(page)).filter((one) => !one.startsWith('a tile'));
        return [...excess, ...(await findLow(page))];
      });
      await page.setViewportSize({ width: 1440, height: 900 });
      return flaws;
    });
    expect(found).toEqual({});
    expect(tested.complaints).toEqual([]);
  }, 600_000);

  test('shows to the pointer all of what is cut', async () => {
    const projectId = await tested.createProject(longName);
    const cadiz = await tested.connect(projectId);
    const folder = longName.replace('.txt', '');
    const { id } = await cadiz.folders.create(folder);
    await cadiz.upload(new File(['x'], longName, { type: 'text/plain' }));
    const { id: trashed } = await cadiz.upload(new File(['x'], `trashed ${longName}`, { type: 'text/plain' }), {
      folder,
    });
    await cadiz.files.delete(trashed);
    const page = await tested.openAsOwner('/projects');
    const at = `/projects/${projectId}`;
    const titleOf = async (one: Locator) => {
      await one.hover();
      return one.getAttribute('title');
    };
    await show(page, `${at}/files`);
    await expect.poll(() => titleOf(page.locator('.switcher .clip'))).toBe(longName);
    expect(await titleOf(page.locator('.row .name').first())).toBe(folder);
    expect(await titleOf(page.locator('.row .name').last())).toBe(longName);
    // What is seen as a whole says nothing more.
    expect(await titleOf(page.locator('.row .cell-type').last())).toBe(null);
    await page.getByTitle('Switch project').click();
    await page.getByRole('menuitem').first().waitFor();
    expect(await titleOf(page.getByRole('menuitem', { name: longName }).locator('.clip'))).toBe(longName);
    expect((await page.getByRole('menu').boundingBox())?.width).toBeLessThan(500);
    await show(page, `${at}/files/${id}`);
    expect(await titleOf(page.locator('.crumbs a'))).toBe(longName);
    expect(await titleOf(page.locator('.crumbs b'))).toBe(folder);
    await show(page, `${at}/trash`);
    expect(await titleOf(page.locator('td .name'))).toBe(`trashed ${longName}`);
    expect(await titleOf(page.locator('td.clip'))).toBe(folder);
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });

  test('leaves room beside names and numbers of any length', async () => {
    const projectId = await tested.createProject('Extremes');
    const cadiz = await tested.connect(projectId);
    // Without a space to break at.
    const name = longName.replaceAll(' ', '');
    const { id } = await cadiz.upload(new File(['x'], name, { type: 'text/plain' }));
    await cadiz.files.delete(id);
    await cadiz.tickets.create({ maxFiles: 10_000, maxBytes: 5_000_000_000_000 });
    for (let count = 1; count <= 9; count++)
      await tested.ask('POST', '/api/api-keys', { name: `Key ${count}`, projectId });
    const page = await tested.openAsOwner('/account', { locale: 'de-DE', hasTouch: true });
    const at = (screen: string) => `/projects/${projectId}/${screen}`;
    const search = page.getByRole('searchbox', { name: 'Schlüssel finden' });
    const rightOf = async (one: Locator) => {
      const box = await one.boundingBox();
      return (box?.x ?? 0) + (box?.width ?? Number.POSITIVE_INFINITY);
    };
    for (const width of [1440, 1024, 390]) {
      await page.setViewportSize({ width, height: 800 });
      await show(page, at('trash'));
      expect(await rightOf(page.getByRole('button', { name: 'Zurückholen' }))).toBeLessThan(width);
      await show(page, at('keys'));
      const title = await page
        .getByRole('heading', { name: 'API-Schlüssel', level: 1 })
        .evaluate((one) => one.getBoundingClientRect().x + one.scrollWidth);
      expect((await search.locator('..').boundingBox())?.x).toBeGreaterThanOrEqual(title);
    }
    // The field of a phone takes the place of the title, which screen readers still have.
    const start = (await page.getByRole('heading', { level: 1 }).boundingBox())?.x ?? 0;
    await search.fill('Key 3');
    await expect.poll(async () => (await search.locator('..').boundingBox())?.x).toBeLessThanOrEqual(start);
    expect(await page.getByRole('heading', { name: 'API-Schlüssel', level: 1 }).count()).toBe(1);
    expect(await rightOf(page.getByRole('button', { name: 'Schlüssel anlegen' }))).toBeLessThan(390);
    await page.setViewportSize({ width: 1440, height: 800 });
    await show(page, at('tickets'));
    const cut = await page
      .locator('td')
      .evaluateAll((cells) => cells.filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.textContent));
    expect(cut).toEqual([]);
    // Also in sentences.
    await page.setViewportSize({ width: 390, height: 800 });
    const isCut = (one: Locator) => one.evaluate(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth);
    await show(page, at('trash'));
    await page.getByRole('button', { name: 'Zurückholen' }).click();
    const toast = page.locator('.toast');
    await toast.getByText('ist wieder da.').waitFor();
    expect(await isCut(toast)).toBe(false);
    await show(page, at('files'));
    await page
      .locator('input[type=file]')
      .first()
      .setInputFiles({ name, mimeType: 'text/plain', buffer: Buffer.from('y') });
    await page.getByRole('dialog').getByText('(2).txt').waitFor();
    expect(await isCut(page.locator('.dialog > .in'))).toBe(false);
    expect(tested.complaints).toEqual([]);
    await page.context().close();
  });
});

/** Presses Tab until the focus has been everywhere. @returns what never had it, or had it and did not show it */
async function tabThrough(page: Page): Promise<string[]> {
  const found: string[] = [];
  const waiting = await page.evaluate(() => {
    const scope = document.querySelector<HTMLElement>('[role=dialog], dialog[open]') ?? document.body;
    // From the top, wherever the screen has put the focus.
    const { tabIndex } = scope;
    scope.tabIndex = -1;
    scope.focus();
    if (tabIndex < 0 && scope !== document.body) scope.tabIndex = tabIndex;
    else scope.removeAttribute('tabindex');
    const all = document.querySelectorAll<HTMLElement>('a[href], button, input, select, textarea, summary, [tabindex]');
    const stops = [...all].filter((one) => {
      const isOff = one.tabIndex < 0 || one.matches(':disabled') || one.closest('[inert], [aria-hidden=true]');
      const isOtherRadio = one instanceof HTMLInputElement && one.type === 'radio';
      return scope.contains(one) && !isOff && !isOtherRadio && one.checkVisibility({ visibilityProperty: true });
    });
    for (const [index, one] of stops.entries()) one.dataset.stop = String(index);
    return stops.map((one) => `${one.tagName} ${one.className} ${one.ariaLabel ?? one.innerText}`.trim());
  });
  const reached = new Set<number>();
  for (let press = 0; press < waiting.length + 15 && reached.size < waiting.length; press++) {
    await page.keyboard.press('Tab');
    const at = await page.evaluate(() => {
      const one = document.activeElement;
      if (!(one instanceof HTMLElement) || one === document.body) return undefined;
      const isRing = (element: Element | null): boolean => {
        if (!element || element === document.body) return false;
        const { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(element);
        return (outlineStyle !== 'none' && parseFloat(outlineWidth) > 0) || boxShadow !== 'none';
      };
      // A field's frame shows it for the field, a row for what is in it, a label for its box.
      const shown = [one, one.parentElement, one.closest('label'), one.nextElementSibling].some(isRing);
      const { top, bottom, left, right } = one.getBoundingClientRect();
      const isSeen = bottom > 0 && top < innerHeight && right > 0 && left < innerWidth;
      return {
        stop: one.dataset.stop,
        shown,
        isSeen,
        name: `${one.tagName} ${one.className} ${one.ariaLabel ?? one.innerText}`,
      };
    });
    if (!at) continue;
    if (at.stop !== undefined) reached.add(Number(at.stop));
    if (!at.shown) found.push(`does not show the focus: ${at.name}`);
    if (!at.isSeen) found.push(`has the focus out of sight: ${at.name}`);
  }
  for (const [index, name] of waiting.entries()) if (!reached.has(index)) found.push(`is not reached: ${name}`);
  return found;
}
