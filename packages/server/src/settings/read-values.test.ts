import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { InvalidSettings } from './config.ts';
import { readValues } from './read-values.ts';
import * as schemas from './schemas.ts';
import type { Schema, Setting, SettingTable } from './setting.ts';
import { settings } from './table.ts';

const secret = 'hunter2';

/** Everything that anybody is told of an environment, as one text. */
function tell(table: SettingTable, environment: Record<string, string>): string {
  const { mistakes, warnings } = readValues(table, environment, Object.keys(environment));
  const error = new InvalidSettings(mistakes);
  return JSON.stringify([mistakes, warnings, error, error.message, error.stack]);
}

/** One of each schema that can refuse something, and what it refuses. */
const refusing: [name: string, schema: Schema, refused: string][] = [
  ['longText', schemas.longText(32), secret],
  ['wholeNumber', schemas.wholeNumber(1, 9), secret],
  ['ratio', schemas.ratio(), secret],
  ['port', schemas.port(), secret],
  ['oneOf', schemas.oneOf('first', 'open'), secret],
  ['onOrOff', schemas.onOrOff(), secret],
  ['urlOf', schemas.urlOf('postgres:'), `mysql://db/?password=${secret}`],
  ['urlOf', schemas.urlOf('postgres:'), `postgres://cadiz:${secret}#@db/cadiz`],
  ['postgresUrl', schemas.postgresUrl(), `postgres://cadiz:${secret}@first,second/db`],
  ['httpUrl', schemas.httpUrl(), `ftp://store/?key=${secret}`],
  ['networks', schemas.networks(), secret],
  ['issuer', schemas.issuer(), `http://id.example.com/${secret}`],
  ['scopes', schemas.scopes(), `"${secret}"`],
  ['closedOpenOrDomains', schemas.closedOpenOrDomains(), secret],
];

describe('the value of a setting', () => {
  test('is tried with every schema below', () => {
    const refusesNothing = ['text', 'folder'];
    expect([...new Set(refusing.map(([name]) => name)), ...refusesNothing].sort()).toEqual(Object.keys(schemas).sort());
  });

  test.each(refusing)('that is marked secret is told nowhere when %s refuses it', (_, schema, refused) => {
    const PIN = { sentence: 'A secret.', schema, secret: true, needs: ['PORT'] } as const;
    const told = tell({ ...settings, PIN }, { PIN: refused, PINN: refused, CADIZ_PIN: refused });
    expect(told).toContain('PIN must be ');
    expect(told).toContain('PORT must be set when PIN is.');
    expect(told).toContain('CADIZ_PIN');
    expect(told).not.toContain(secret);
  });

  test('that nobody marked is not told either, unless its schema says that it may be', () => {
    // @ts-expect-error What is not quotable must be marked as a secret.
    const PIN: Setting = { sentence: 'Forgotten.', schema: z.string().min(32, { error: 'must be longer' }) };
    expect(tell({ PIN }, { PIN: secret })).toContain('PIN must be longer.');
    expect(tell({ PIN }, { PIN: secret })).not.toContain(secret);
  });

  test('is told when it is no secret, on one line, and without what may be a password', () => {
    expect(readValues(settings, { PORT: 'x\n"y"' }).mistakes).toEqual([
      'PORT must be a whole number from 1 to 65535, and is "x\\n\\"y\\"".',
    ]);
    expect(readValues(settings, { CADIZ_PUBLIC_URL: 'media' }).mistakes).toEqual([
      'CADIZ_PUBLIC_URL must be a URL that starts with http:// or https://, and is "media".',
    ]);
    expect(readValues(settings, { CADIZ_PUBLIC_URL: `https:\\cadiz:${secret}@media` }).mistakes[0]).not.toContain(
      secret,
    );
  });
});

describe('every setting', () => {
  const entries = Object.entries<Setting>(settings);

  test('that can hold a password or a secret key is marked as a secret', () => {
    const holds = ({ schema }: Setting) =>
      !schema.safeParse('?').success &&
      ['postgres', 'smtps', 'https'].some(
        (protocol) => schema.safeParse(`${protocol}://cadiz:${secret}@host/db`).success,
      );
    const needed = entries.filter(([name, setting]) => /SECRET|PASSWORD|TOKEN/.test(name) || holds(setting));
    expect(needed.length).toBeGreaterThanOrEqual(8);
    expect(needed.filter(([, setting]) => !setting.secret).map(([name]) => name)).toEqual([]);
  });

  test('that people see has no place for a password', () => {
    for (const name of ['CADIZ_PUBLIC_URL', 'S3_ENDPOINT', 'S3_PUBLIC_ENDPOINT', 'OIDC_ISSUER']) {
      const told = tell(settings, { [name]: `https://cadiz:${secret}@example.com` });
      expect(told).toContain(`${name} must be a URL `);
      expect(told).not.toContain(secret);
    }
  });

  test('has a default that it takes itself, or says what holds otherwise, or neither', () => {
    expect(readValues(settings, {}).mistakes).toEqual([]);
    for (const [name, setting] of entries)
      expect([name, setting.default && setting.otherwise]).toEqual([name, undefined]);
  });
});
