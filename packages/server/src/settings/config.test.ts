import { resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { InvalidSettings, readConfig } from './config.ts';
import { settings } from './table.ts';

function mistakesOf(environment: Record<string, string>): readonly string[] {
  try {
    readConfig(environment);
  } catch (error) {
    if (error instanceof InvalidSettings) return error.mistakes;
    throw error;
  }
  return [];
}

const s3 = { S3_ENDPOINT: 'http://rgw', S3_BUCKET: 'b', S3_ACCESS_KEY_ID: 'i', S3_SECRET_ACCESS_KEY: 's' };

describe('settings', () => {
  test('have the defaults of the contract', () => {
    expect(readConfig({})).toMatchObject({
      host: '127.0.0.1',
      port: 4000,
      publicUrl: 'http://localhost:4000',
      dataDir: resolve('data'),
      signUp: 'first',
      database: { kind: 'embedded', dataDir: resolve('data/database'), listings: { atOnce: 2, waiting: 128 } },
      objectStore: { kind: 'embedded', port: 4001, publicEndpoint: 'http://localhost:4001' },
      presignTtlSeconds: 900,
      recordDeadlineSeconds: 86_400,
      maxFileSizeBytes: 5_368_709_120,
      metricsPort: undefined,
      logLevel: 'info',
      drainSeconds: 30,
    });
  });

  test('that are empty count as not set', () => {
    const empty = Object.fromEntries(Object.keys(settings).map((name) => [name, '']));
    expect(readConfig(empty)).toEqual(readConfig({}));
  });

  test('that are addresses are read as browsers read them', () => {
    const read = (CADIZ_PUBLIC_URL: string) => readConfig({ CADIZ_PUBLIC_URL }).publicUrl;
    expect(read('HTTPS://Media.Example.com:443/')).toBe('https://media.example.com');
    expect(read('http://LOCALHOST:4000')).toBe('http://localhost:4000');
    expect(read('https://example.com/cadiz/')).toBe('https://example.com/cadiz');
  });

  test('that want TLS to the database verify the whole certificate, as the driver does, unless they ask for what libpq does', () => {
    const read = (query: string) => readConfig({ DATABASE_URL: `postgres://cadiz@db/cadiz${query}` }).database;
    const url = (query: string) => expect.objectContaining({ url: `postgres://cadiz@db/cadiz${query}` });
    for (const mode of ['prefer', 'require', 'verify-ca', 'verify-full']) {
      expect(read(`?a=b&sslmode=${mode}&c=d`)).toEqual(url('?a=b&sslmode=verify-full&c=d'));
    }
    for (const query of ['', '?sslmode=disable', '?sslmode=no-verify', '?uselibpqcompat=true&sslmode=require']) {
      expect(read(query)).toEqual(url(query));
    }
  });

  test('warn of a public URL under which the console does not work', () => {
    const warnings = (CADIZ_PUBLIC_URL: string) => {
      const told: string[] = [];
      readConfig({ CADIZ_PUBLIC_URL }, { warn: (sentence) => told.push(sentence) });
      return told;
    };
    expect(warnings('https://example.com/')).toEqual([]);
    expect(warnings('https://example.com/cadiz')).toEqual([expect.stringMatching(/^CADIZ_PUBLIC_URL has a path/)]);
  });

  test('follow from each other where nothing else is said', () => {
    expect(readConfig({ PORT: '5000' }).publicUrl).toBe('http://localhost:5000');
    expect(readConfig({ CADIZ_PUBLIC_URL: 'https://media.example.com/' }).publicUrl).toBe('https://media.example.com');
    expect(
      readConfig({ CADIZ_PUBLIC_URL: 'https://media.example.com', STORE_PORT: '9000' }).objectStore.publicEndpoint,
    ).toBe('http://media.example.com:9000');
    const s3 = {
      S3_ENDPOINT: 'http://rgw:7480/',
      S3_BUCKET: 'media',
      S3_ACCESS_KEY_ID: 'id',
      S3_SECRET_ACCESS_KEY: 'secret',
    };
    expect(readConfig(s3).objectStore).toEqual({
      kind: 's3',
      endpoint: 'http://rgw:7480',
      publicEndpoint: 'http://rgw:7480',
      region: 'us-east-1',
      bucket: 'media',
      accessKeyId: 'id',
      secretAccessKey: 'secret',
    });
    const upload = { S3_UPLOAD_ACCESS_KEY_ID: 'up', S3_UPLOAD_SECRET_ACCESS_KEY: 'secret of uploads' };
    expect(readConfig({ ...s3, ...upload }).objectStore).toMatchObject({
      accessKeyId: 'id',
      upload: { accessKeyId: 'up', secretAccessKey: 'secret of uploads' },
    });
    expect(readConfig({ ...s3, S3_PUBLIC_ENDPOINT: 'https://media.example.com' }).objectStore.publicEndpoint).toBe(
      'https://media.example.com',
    );
    expect(readConfig({ DATABASE_URL: 'postgres://cadiz@db/cadiz', DATABASE_POOL_SIZE: '3' }).database).toEqual({
      kind: 'postgres',
      url: 'postgres://cadiz@db/cadiz',
      poolerPrepares: false,
      maxConnections: 3,
      listings: { atOnce: 2, waiting: 128 },
    });
  });

  test.each([
    ['PORT', '0'],
    ['PORT', '65536'],
    ['PORT', '80.5'],
    ['PORT', ' 80'],
    ['PORT', '0x50'],
    ['PORT', '-1'],
    ['CADIZ_PUBLIC_URL', 'media.example.com'],
    ['CADIZ_PUBLIC_URL', 'ftp://media.example.com'],
    ['CADIZ_PUBLIC_URL', 'https://media.example.com/?tenant=1'],
    ['CADIZ_PUBLIC_URL', 'https://media.example.com/#'],
    ['S3_ENDPOINT', 'https://s3.example.com?x'],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'http://collector#x'],
    ['CADIZ_SIGN_UP', 'everybody'],
    ['CADIZ_SECRET', 'short'],
    ['DATABASE_URL', 'mysql://db'],
    ['DATABASE_URL', 'postgres://cadiz:a,b@first,second/cadiz'],
    ['DATABASE_URL', 'postgres://first:5432,second:5432/cadiz?target_session_attrs=read-write'],
    ['OIDC_ISSUER', 'id.example.com'],
    ['OIDC_ISSUER', 'http://id.example.com'],
    ['OIDC_ISSUER', 'http://127.evil.example.com'],
    ['OIDC_ISSUER', 'https://id.example.com/?x'],
    ['OIDC_SCOPES', 'openid "email"'],
    ['OIDC_SIGN_UP', 'everybody'],
    ['OIDC_SIGN_UP', 'example.com, *.example.org'],
    ['DATABASE_POOL_SIZE', '0'],
    ['S3_PUBLIC_ENDPOINT', 'rgw'],
    ['STORE_PORT', 'x'],
    ['PRESIGN_TTL_SECONDS', '0'],
    ['PRESIGN_TTL_SECONDS', '604801'],
    ['RECORD_DEADLINE_SECONDS', '1e9'],
    ['MAX_FILE_SIZE_BYTES', '5497558138881'],
    ['MAX_FILE_SIZE_BYTES', '-1'],
    ['UPLOAD_DEADLINE_SECONDS', '59'],
    ['METRICS_PORT', 'on'],
    ['LOG_LEVEL', 'verbose'],
    ['DRAIN_SECONDS', '1.5'],
  ])('%s=%s is one mistake, which names it', (name, value) => {
    const mistakes = mistakesOf({ [name]: value }).filter((mistake) => !mistake.includes(' must be set when '));
    expect(mistakes).toHaveLength(1);
    expect(mistakes[0]).toMatch(new RegExp(`^${name} must be .*\\.$`));
  });

  test.each([
    [
      { S3_ENDPOINT: 'http://rgw' },
      /^S3_BUCKET, S3_ACCESS_KEY_ID, and S3_SECRET_ACCESS_KEY must be set when S3_ENDPOINT is\.$/,
    ],
    [
      { S3_UPLOAD_ACCESS_KEY_ID: 'id', S3_UPLOAD_SECRET_ACCESS_KEY: 'secret' },
      /^S3_ENDPOINT must be set when S3_UPLOAD_ACCESS_KEY_ID and S3_UPLOAD_SECRET_ACCESS_KEY are\.$/,
    ],
    [
      { S3_UPLOAD_ACCESS_KEY_ID: 'id' },
      /^S3_ENDPOINT and S3_UPLOAD_SECRET_ACCESS_KEY must be set when S3_UPLOAD_ACCESS_KEY_ID is\.$/,
    ],
    [
      { OIDC_ISSUER: 'https://id.example.com', OIDC_CLIENT_ID: 'cadiz' },
      /^OIDC_CLIENT_SECRET must be set when OIDC_ISSUER and OIDC_CLIENT_ID are\.$/,
    ],
    [{ S3_BUCKET: 'media' }, /^S3_ENDPOINT must be set when S3_BUCKET is\.$/],
    [{ PORT: '4001' }, /^PORT and STORE_PORT must be different, and both are 4001\.$/],
    [{ METRICS_PORT: '4000' }, /^PORT and METRICS_PORT must be different/],
    [{ STORE_PORT: '5000', METRICS_PORT: '5000' }, /^STORE_PORT and METRICS_PORT must be different/],
    [
      { WORKERS: '3', DATABASE_URL: 'postgres://db/cadiz' },
      /^WORKERS is 3, but the embedded object store is open to one process only: set S3_ENDPOINT, or WORKERS to 1\.$/,
    ],
    [
      { WORKERS: '3', ...s3 },
      /^WORKERS is 3, but the embedded database is open to one process only: set DATABASE_URL, or WORKERS to 1\.$/,
    ],
    [
      { WORKERS: '3', ...s3, DATABASE_URL: 'postgres://db/cadiz', PORT: '9002', METRICS_PORT: '9000' },
      /^PORT \(9002\) must not be one of those for metrics, which are 9000 to 9002\.$/,
    ],
    [
      { S3_PUBLIC_ENDPOINT: 'https://example.com/objects/' },
      /^S3_PUBLIC_ENDPOINT \(https:\/\/example\.com\/objects\) must be a URL without a path: .* Give it a host name or a port of its own\.$/,
    ],
    [
      { WORKERS: '3', ...s3, DATABASE_URL: 'postgres://db/cadiz', METRICS_PORT: '65534' },
      /^METRICS_PORT \(65534\) must leave 3 ports for the workers\.$/,
    ],
    [
      { RECORD_DEADLINE_SECONDS: '900' },
      /^RECORD_DEADLINE_SECONDS \(900\) must be longer than PRESIGN_TTL_SECONDS \(900\)/,
    ],
  ])('%j do not go together', (environment, sentence) => {
    const mistakes = mistakesOf(environment as Record<string, string>);
    expect(mistakes).toEqual([expect.stringMatching(sentence)]);
  });

  test.each([
    ['mysql://db/cadiz', 'a URL that starts with postgres:// or postgresql://.'],
    [
      'postgres://cadiz:a#b@db/cadiz',
      'a well-formed URL: its port is at most 65535, and in a password # is written as %23',
    ],
    ['postgres://cadiz@db:99999/cadiz', 'a well-formed URL: its port is at most 65535'],
  ])('DATABASE_URL=%s is told what is wrong with it', (url, sentence) => {
    expect(mistakesOf({ DATABASE_URL: url })).toEqual([expect.stringContaining(`DATABASE_URL must be ${sentence}`)]);
  });

  test('a port that nothing of ours listens on clashes with none', () => {
    expect(mistakesOf({ ...s3, PORT: '4001' })).toEqual([]);
  });

  test('all mistakes are told together', () => {
    const mistakes = mistakesOf({
      PORT: 'x',
      STORE_PORT: 'y',
      CADIZ_SIGN_UP: 'z',
      LOG_LEVEL: 'loud',
      S3_BUCKET: 'media',
    });
    expect(mistakes.map((sentence) => sentence.split(' ')[0])).toEqual([
      'PORT',
      'CADIZ_SIGN_UP',
      'STORE_PORT',
      'LOG_LEVEL',
      'S3_ENDPOINT',
    ]);
    expect(new InvalidSettings(mistakes).message.split('\n')).toHaveLength(5);
  });

  test('a secret is never repeated, right or wrong', () => {
    const secret = 'hunter2';
    const mistakes = mistakesOf({
      CADIZ_SECRET: secret,
      DATABASE_URL: `mysql://cadiz:${secret}@db/cadiz`,
      S3_SECRET_ACCESS_KEY: secret,
      STORE_SECRET_ACCESS_KEY: secret,
      S3_UPLOAD_SECRET_ACCESS_KEY: secret,
      S3_ENDPOINT: `ftp://cadiz:${secret}@store`,
      PORT: 'x',
    });
    expect(mistakes.length).toBeGreaterThanOrEqual(4);
    expect(mistakes.join('\n')).not.toContain(secret);
  });

  test('every one has a sentence of its own', () => {
    const sentences = Object.values(settings).map(({ sentence }) => sentence);
    for (const sentence of sentences) expect(sentence).toMatch(/^[A-Z].*\.$/);
    expect(new Set(sentences).size).toBe(sentences.length);
  });
});
