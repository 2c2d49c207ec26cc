import { describe, expect, test } from 'vitest';
import { InvalidSettings, readConfig } from './config.ts';
import { settings } from './table.ts';
import { findUnknownSettings } from './unknown-settings.ts';

const find = (environment: Record<string, string>, fromFile: string[] = []) =>
  findUnknownSettings(settings, environment, fromFile);

describe('a variable that looks like a setting and is none', () => {
  test.each([
    ['CADIZ_DATADIR', 'CADIZ_DATA_DIR'],
    ['CADIZ_SIGNUP', 'CADIZ_SIGN_UP'],
    ['CADIZ_PORT', 'PORT'],
    ['CADIZ_DATABASE_URL', 'DATABASE_URL'],
    ['RATE_LIMIT_UPLOAD', 'RATE_LIMIT_UPLOADS'],
    ['S3_REGOIN', 'S3_REGION'],
    ['S3_ACCESS_KEY', 'S3_ACCESS_KEY_ID'],
    ['S3_SECRET_KEY', 'S3_SECRET_ACCESS_KEY'],
    ['STORE_PROT', 'STORE_PORT'],
    ['SMTP_FORM', 'SMTP_FROM'],
    ['OIDC_CLIENTID', 'OIDC_CLIENT_ID'],
    ['DATABASE_URI', 'DATABASE_URL'],
    ['DATABASE_POOLSIZE', 'DATABASE_POOL_SIZE'],
    ['MAX_FILESIZE_BYTES', 'MAX_FILE_SIZE_BYTES'],
    ['TRUSTED_PROXY', 'TRUSTED_PROXIES'],
    ['s3_endpoint', 'S3_ENDPOINT'],
  ])('%s: %s was meant', (name, meant) => {
    const { mistakes, warnings } = find({ [name]: 'x' });
    expect([...mistakes, ...warnings]).toEqual([`${name} is not a setting of Cadiz: did you mean ${meant}?`]);
  });

  test('is not one that clients use', () => {
    const ofClients = {
      CADIZ_URL: 'x',
      CADIZ_API_KEY: 'x',
      CADIZ_PROJECT_ID: 'x',
      CADIZ_WEBHOOK_SECRET: 'x',
      AWS_ACCESS_KEY_ID: 'x',
      AWS_SECRET_ACCESS_KEY: 'x',
      AWS_REGION: 'x',
      SUPABASE_URL: 'x',
    };
    expect(find(ofClients, Object.keys(ofClients))).toEqual({ mistakes: [], warnings: [] });
    expect(find(ofClients)).toEqual({ mistakes: [], warnings: [] });
  });

  test('is a mistake where only Cadiz can be meant, and a warning otherwise', () => {
    expect(find({ CADIZ_DATADIR: 'x' })).toMatchObject({ mistakes: [expect.anything()], warnings: [] });
    expect(find({ CADIZ_ANYTHING: 'x' })).toMatchObject({ mistakes: [expect.anything()], warnings: [] });
    expect(find({ S3_REGOIN: 'x' })).toMatchObject({ mistakes: [], warnings: [expect.anything()] });
    expect(find({ S3_REGOIN: 'x' }, ['S3_REGOIN'])).toMatchObject({ mistakes: [expect.anything()], warnings: [] });
    expect(find({ S3_TENANT: 'x' }, ['S3_TENANT'])).toMatchObject({ mistakes: [], warnings: [expect.anything()] });
  });

  test('never has its value told', () => {
    expect(JSON.stringify(find({ S3_SECRET_KEY: 'hunter2', CADIZ_SECRT: 'hunter2' }))).not.toContain('hunter2');
  });
});

test('settings, what is empty, and what belongs to others is left alone', () => {
  const others = {
    ...Object.fromEntries(Object.keys(settings).map((name) => [name, 'x'])),
    CADIZ_EMPTY: '',
    PATH: '/bin',
    HOME: '/root',
    HOSTNAME: 'web-1',
    PWD: '/',
    LANG: 'C',
    LOGNAME: 'root',
    PGHOST: 'db',
    POSTGRES_URL: 'x',
    NODE_ENV: 'production',
    // Kubernetes sets these in every pod beside a service named cadiz, and Docker for a link.
    CADIZ_SERVICE_HOST: '10.0.0.1',
    CADIZ_SERVICE_PORT: '4000',
    CADIZ_SERVICE_PORT_HTTP: '4000',
    CADIZ_PORT: 'tcp://10.0.0.1:4000',
    CADIZ_PORT_4000_TCP: 'tcp://10.0.0.1:4000',
    CADIZ_PORT_4000_TCP_ADDR: '10.0.0.1',
  };
  expect(find(others)).toEqual({ mistakes: [], warnings: [] });
});

test('a mistake stops the start beside all others, and a warning does not', () => {
  const warnings: string[] = [];
  const warn = (sentence: string) => warnings.push(sentence);
  expect(readConfig({ S3_REGOIN: 'x' }, { warn }).port).toBe(4000);
  expect(warnings).toHaveLength(1);
  expect(() => readConfig({ CADIZ_DATADIR: 'x', PORT: 'y' })).toThrow(InvalidSettings);
  expect(() => readConfig({ CADIZ_DATADIR: 'x', PORT: 'y' })).toThrow(/^PORT must be .*\nCADIZ_DATADIR is not/);
});
