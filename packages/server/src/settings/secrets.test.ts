import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { readOrMakeSecrets } from './secrets.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'cadiz-test-secrets-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const path = () => join(folder, 'data', 'secrets.json');

test('are made once, and the same ever after', () => {
  const made = readOrMakeSecrets(join(folder, 'data'));
  expect(Buffer.from(made.secret, 'base64url')).toHaveLength(32);
  expect(made.storeAccessKeyId).toMatch(/^CADIZ[0-9A-F]{15}$/);
  expect(Buffer.from(made.storeSecretAccessKey, 'base64url')).toHaveLength(30);
  expect(readOrMakeSecrets(join(folder, 'data'))).toEqual(made);
  expect(readOrMakeSecrets(join(folder, 'other')).secret).not.toBe(made.secret);
});

test('are for their owner only, and leave no draft behind', () => {
  readOrMakeSecrets(join(folder, 'data'));
  expect(statSync(path()).mode & 0o777).toBe(0o600);
  expect(statSync(join(folder, 'data')).mode & 0o777).toBe(0o700);
  expect(readdirSync(join(folder, 'data'))).toEqual(['secrets.json']);
});

test.each(['', '{', '{}', 'null', '{"secret":"short","storeAccessKeyId":"a","storeSecretAccessKey":"b"}'])(
  'that are damaged (%s) are not replaced in silence',
  (content) => {
    readOrMakeSecrets(join(folder, 'data'));
    writeFileSync(path(), content);
    expect(() => readOrMakeSecrets(join(folder, 'data'))).toThrow(
      /secrets\.json is damaged: .* sign in again, second factors stop working, webhooks .* and every link gets another URL\.$/,
    );
    expect(readFileSync(path(), 'utf8')).toBe(content);
  },
);

test('six processes that start at once agree on them', async () => {
  const code = `import { readOrMakeSecrets } from ${JSON.stringify(new URL('../../dist/settings/secrets.js', import.meta.url).href)};
    process.stdout.write(readOrMakeSecrets(process.argv[1]).secret);`;
  const secrets = await Promise.all(
    Array.from({ length: 6 }, async () => {
      const child = spawn(process.execPath, ['--input-type=module', '-e', code, join(folder, 'data')]);
      return text(child.stdout);
    }),
  );
  expect(new Set(secrets).size).toBe(1);
  expect(secrets[0]).toHaveLength(43);
});

test('six containers that share a data folder agree on them, although each process has the id 1', async () => {
  const code = `import { readFileSync } from 'node:fs';
    import { readOrMakeSecrets } from ${JSON.stringify(new URL('../../dist/settings/secrets.js', import.meta.url).href)};
    Object.defineProperty(process, 'pid', { value: 1 });
    process.stdout.write('.');
    readFileSync(0);
    process.stdout.write(readOrMakeSecrets(process.argv[1]).secret);`;
  for (let round = 0; round < 5; round += 1) {
    const dataDir = join(folder, `${round}`);
    const children = Array.from({ length: 6 }, () =>
      spawn(process.execPath, ['--input-type=module', '-e', code, dataDir], { stdio: ['pipe', 'pipe', 'inherit'] }),
    );
    const ended = children.map(({ stdout }) => text(stdout));
    await Promise.all(children.map(({ stdout }) => once(stdout, 'readable')));
    for (const { stdin } of children) stdin.end();
    const said = await Promise.all(ended);
    expect(said).toEqual(Array(6).fill(`.${readOrMakeSecrets(dataDir).secret}`));
    expect(readdirSync(dataDir)).toEqual(['secrets.json']);
  }
});
