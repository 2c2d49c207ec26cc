import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const dist = fileURLToPath(new URL('../dist', import.meta.url));
const { exports } = JSON.parse(readFileSync(join(dist, '../package.json'), 'utf8')) as {
  exports: Record<string, { types: string }>;
};

interface Documented {
  name: string;
  /** Whether it can be called or created: then its docstring has an example. */
  isCallable: boolean;
  docstring: string;
}

const docstringBefore = /\/\*\*(?:[^*]|\*(?!\/))*\*\/\s*$/;
const declaration = /^export (?:declare )?(function|class|const|interface|type) (\w+)/gm;

/** Everything that a declaration file exports, by the text that the compiler wrote. */
function exportsOf(file: string): Documented[] {
  const text = readFileSync(file, 'utf8');
  const other = (path: string) => join(dirname(file), path.replace(/\.ts$/, '.d.ts'));
  const own = [...text.matchAll(declaration)].map(({ 1: kind, 2: name = '', index }) => ({
    name,
    isCallable: kind === 'function' || kind === 'class' || kind === 'const',
    docstring: docstringBefore.exec(text.slice(0, index))?.[0] ?? '',
  }));
  const all = [...text.matchAll(/^export (?:type )?\* from '(.+)';/gm)].flatMap(([, path = '']) =>
    exportsOf(other(path)),
  );
  const named = [...text.matchAll(/^export (?:type )?\{([^}]+)\} from '(.+)';/gm)].flatMap(
    ([, names = '', path = '']) => {
      const wanted = [...names.matchAll(/(?:type )?(\w+)(?: as \w+)?/g)].map(([, name]) => name);
      const there = exportsOf(other(path)).filter(({ name }) => wanted.includes(name));
      expect(there, `${names} of ${path}`).toHaveLength(wanted.length);
      return there;
    },
  );
  return [...own, ...all, ...named];
}

/** The methods of what `createClient` returns, such as `files.list`, by their indentation. */
function methodsOfClient(): Documented[] {
  const text = readFileSync(join(dist, 'client.d.ts'), 'utf8');
  const body = text.slice(text.indexOf('export declare function createClient('));
  let group = '';
  return [...body.matchAll(/^( {4}| {8})(\w+)(?:<[\w ]+>)?(: \{$|: \(|: <|\()/gm)].flatMap(
    ({ 1: indentation = '', 2: name = '', 3: what, index }) => {
      if (indentation.length === 4) group = what === ': {' ? name : '';
      if (what === ': {') return [];
      const docstring = docstringBefore.exec(body.slice(0, index))?.[0] ?? '';
      return [{ name: group && indentation.length === 8 ? `${group}.${name}` : name, isCallable: true, docstring }];
    },
  );
}

test.each(Object.entries(exports))(
  'everything that %s exports is documented, with an example if it can be called',
  (_, { types }) => {
    const found = exportsOf(join(dist, '..', types));
    expect(found.length).toBeGreaterThan(0);
    expect(found.filter(({ docstring }) => !docstring).map(({ name }) => name)).toEqual([]);
    expect(found.filter(({ isCallable, docstring }) => isCallable && !docstring.includes('@example'))).toEqual([]);
  },
);

test('docs/sdk.md names every method of a client', () => {
  const page = readFileSync(fileURLToPath(new URL('../../../docs/sdk.md', import.meta.url)), 'utf8');
  const isNamed = ({ name }: Documented) => {
    const [group = '', method] = name.split('.');
    const row = page.split('\n').find((line) => line.startsWith(`| \`${group}\` |`)) ?? '';
    return method === undefined ? page.includes(`\`${group}\``) : row.includes(`\`${method}\``);
  };
  expect(methodsOfClient().filter((method) => !isNamed(method))).toEqual([]);
});

test('every method of a client is documented, with an example', () => {
  const found = methodsOfClient();
  expect(found.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['upload', 'files.list', 'events.follow', 'usageDaily']),
  );
  expect(found.filter(({ docstring }) => !docstring.includes('@example')).map(({ name }) => name)).toEqual([]);
});
