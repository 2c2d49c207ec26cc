import { execFile, spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { File } from '@cadiz/contract';
import { describe, expect, test } from 'vitest';
import { cleanUp, embeddedSettings, startService, stopService } from '../../../e2e/service.ts';
import { findCommand, isCommand, parseCommand } from '../../cli/src/parse.ts';
import { environment } from '../../cli/src/table.ts';
import { toSections } from '../src/checkup/checks.ts';
import { readConfig } from '../src/settings/config.ts';
import { settings } from '../src/settings/table.ts';
import { toWelcome } from '../src/start/welcome.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const read = (path: string) => readFileSync(join(root, path), 'utf8');

/** Every document of the project, by its path from the root. */
const documents = readdirSync(root, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && entry.name.endsWith('.md'))
  .map((entry) => relative(root, join(entry.parentPath, entry.name)))
  .filter((path) => !/(?:^|\/)(?:node_modules|dist|data|\.git)\//.test(path));

/** Without those that tell what was decided once. */
const currentDocuments = documents.filter((path) => !path.startsWith('docs/decisions/'));

/** The fenced blocks of a document in one language, without their fences. */
function blocksOf(markdown: string, language: string): string[] {
  return [...markdown.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)]
    .filter(([, ofBlock]) => ofBlock === language)
    .map(([, , text = '']) => text);
}

function withoutBlocks(markdown: string): string {
  return markdown.replaceAll(/^```[\s\S]*?^```$/gm, '');
}

describe('README.md', () => {
  const readme = read('README.md');

  test('has something to run before line 15, and the command that runs the tests', () => {
    expect(readme.split('\n').slice(0, 14).join('\n')).toContain('```sh\nnpm start\n```');
    expect(blocksOf(readme, 'sh')).toContain('npm test\n');
  });

  test('shows exactly what the service prints', () => {
    const config = readConfig({ CADIZ_DATA_DIR: '/srv/cadiz/data' });
    const service = {
      setup: { token: 'h3nXkVv0mB2Zr8TqYw1cLg', asksEverybody: false },
      failed: new Promise<Error>(() => undefined),
      stop: async () => undefined,
    };
    const [head = '', transcript = ''] = toWelcome(config, service).split(/(?=^ {2}CADIZ=)/m);
    expect(blocksOf(readme, 'text')[0]?.trim()).toBe(head.trim());
    expect(blocksOf(readme, 'sh')).toContain(`${transcript.replaceAll(/^ {2}/gm, '').trimEnd()}\n`);
  });

  test('shows a file with all of its fields', () => {
    const [answer = ''] = blocksOf(readme, 'json');
    expect(File.parse(JSON.parse(answer).files[0])).toMatchObject({ fileName: 'hello.txt' });
    expect([...answer.matchAll(/^ {6}"(\w+)":/gm)].map(([, name]) => name)).toEqual(Object.keys(File.shape));
  });
});

test('the pages of errors and settings match the code', () => {
  const script = fileURLToPath(new URL('../scripts/write-docs.mjs', import.meta.url));
  const { status, stderr } = spawnSync(process.execPath, [script, '--check'], { encoding: 'utf8' });
  expect(stderr).toBe('');
  expect(status).toBe(0);
});

test('every link in a document leads somewhere', () => {
  const broken = documents.flatMap((document) =>
    [...withoutBlocks(read(document)).matchAll(/\]\(([^)\s]+)\)/g)]
      .map(([, target = '']) => target)
      .filter((target) => !/^[a-z]+:/.test(target) && !isThere(document, target))
      .map((target) => `${document}: ${target}`),
  );
  expect(documents.length).toBeGreaterThan(20);
  expect(broken).toEqual([]);
});

test('every file that a document names exists', () => {
  const absent = documents.flatMap((document) =>
    [...withoutBlocks(read(document)).matchAll(/`((?:packages|scripts|docs|e2e|bench|src|test)\/[\w./-]+)`/g)]
      .map(([, path = '']) => path)
      .filter((path) => !existsSync(join(root, path)) && !existsSync(join(root, dirname(document), path)))
      .map((path) => `${document}: ${path}`),
  );
  expect(absent).toEqual([]);
});

test('every setting that a document names exists', () => {
  const groups = new Set(Object.keys(settings).flatMap((name) => /^[A-Z0-9]+(?=_)/.exec(name) ?? []));
  // Its SDK has settings of its own.
  groups.delete('OTEL');
  const others = environment.flatMap(([names]) => names.split(', '));
  const unknown = currentDocuments.flatMap((document) =>
    [...read(document).matchAll(/\b([A-Z0-9]+)_[A-Z0-9_]*[A-Z0-9]\b/g)]
      .filter(([name, group = '']) => groups.has(group) && !Object.hasOwn(settings, name) && !others.includes(name))
      .map(([name]) => `${document}: ${name}`),
  );
  expect(groups.size).toBeGreaterThan(10);
  expect(unknown).toEqual([]);
});

test('every command line of cadiz in a document can be read', () => {
  const lines = currentDocuments.flatMap((document) =>
    ['sh', 'bash']
      .flatMap((language) => blocksOf(read(document), language))
      .flatMap((block) => block.replaceAll('\\\n', ' ').split('\n'))
      .flatMap((line) => /(?:^(?:[A-Z0-9_]+=\S* +)*|\/bin\/|\$\()cadiz ([a-z][^|<>&#()]*)/.exec(line)?.[1] ?? [])
      .map((words) => ({ document, words })),
  );
  const wrong = lines.flatMap(({ document, words }) => {
    try {
      const { name, rest } = findCommand(words.match(/"[^"]*"|\S+/g) ?? []);
      if (name === undefined || !isCommand(name)) return [`${document}: ${words}`];
      parseCommand(name, rest);
      return [];
    } catch (error) {
      return [`${document}: ${words}: ${String(error)}`];
    }
  });
  expect(lines.length).toBeGreaterThan(50);
  expect(wrong).toEqual([]);
});

test('the object store is said to receive every request that the service sends', () => {
  const operations = [...read('packages/server/src/store/s3-operation.ts').matchAll(/'([A-Z][A-Za-z]+(?:V2)?)'/g)]
    .map(([, name = '']) => name)
    .filter((name) => !/^[A-Z]+$/.test(name));
  const [table = ''] = /^\| who \| request [\s\S]*?\n\n/m.exec(read('docs/operations.md')) ?? [];
  expect(operations.length).toBeGreaterThan(10);
  expect(operations.filter((name) => !new RegExp(`\\b${name}\\b`).test(table))).toEqual([]);
});

test('docs/doctor.md shows every check of the doctor', () => {
  const [shown = ''] = blocksOf(read('docs/doctor.md'), 'text');
  const url = 'http://localhost:4000';
  const sections = toSections({ origins: [url], publicUrl: url, config: { linksStream: false } });
  expect(
    [...shown.matchAll(/^(?: {2}ok {7}(.+?) {2}.*|([A-Z][^.:\n]*))$/gm)].map(([, check, title]) => check ?? title),
  ).toEqual(sections.flatMap(({ title, checks }) => [title, ...checks.map((check) => check.title)]));
});

function isThere(from: string, target: string): boolean {
  const [path = '', anchor] = target.split('#');
  const file = path === '' ? from : join(dirname(from), decodeURIComponent(path));
  if (!existsSync(join(root, file))) return false;
  return anchor === undefined || toAnchors(read(file)).includes(anchor);
}

/** The anchors that repository hosts derive from headings: lower case, hyphens for spaces, no punctuation. */
function toAnchors(markdown: string): string[] {
  return [...withoutBlocks(markdown).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}_\- ]/gu, '')
      .replaceAll(' ', '-'),
  );
}

const hasCurl = spawnSync('curl', ['--version'], { stdio: 'ignore' }).error === undefined;

test.runIf(hasCurl)(
  'every command of docs/api.md works, in the order of the page',
  async () => {
    const settingsOfService = await embeddedSettings();
    const folder = await mkdtemp(join(tmpdir(), 'cadiz-docs-'));
    try {
      const running = await startService(settingsOfService);
      const script = [
        'set -euo pipefail',
        'curl() { command curl --fail-with-body "$@"; }',
        ...blocksOf(read('docs/api.md'), 'sh').map((block) => block.replace('http://localhost:4000', running.url)),
      ].join('\n');
      const { stdout } = await promisify(execFile)('bash', ['-c', script], { cwd: folder });
      const last = stdout.trim().split('\n').at(-1);
      expect(JSON.parse(last ?? '')).toEqual({ success: true });
      await stopService(running);
    } finally {
      await rm(folder, { recursive: true, force: true });
      await cleanUp(settingsOfService);
    }
  },
  120_000,
);

describe('docs/decisions', () => {
  const folder = 'docs/decisions/';
  const records = readdirSync(join(root, folder)).filter((name) => /^\d{4}-.*\.md$/.test(name));

  test('the index lists every record under its title', () => {
    const listed = records.map(
      (name) =>
        `- [${read(folder + name)
          .split('\n')[0]
          ?.slice(2)}](${name})`,
    );
    expect(read(`${folder}README.md`).match(/^- .*$/gm)).toEqual(listed);
  });

  test('every record says whether it holds, and one that is amended or replaced names the later one', () => {
    const status = (name: string) => /^# .*\n\nStatus: (.*)$/m.exec(read(folder + name))?.[1] ?? '';
    expect(records.filter((name) => !/^(?:accepted|(?:amended|replaced) by \[\d{4}\])/.test(status(name)))).toEqual([]);
  });
});
