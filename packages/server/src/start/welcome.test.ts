import { expect, test } from 'vitest';
import { makeSetup } from '../identity/sign-up/setup.ts';
import { readConfig } from '../settings/config.ts';
import { toWelcome } from './welcome.ts';

function welcome(settings: Record<string, string>): string {
  const config = readConfig({ CADIZ_DATA_DIR: '/srv/cadiz/data', ...settings });
  const setup = makeSetup(config, 'a secret of thirty-two characters');
  return toWelcome(config, { setup, failed: new Promise(() => undefined), stop: async () => undefined });
}

const issuer = { OIDC_ISSUER: 'https://id.example.com', OIDC_CLIENT_ID: 'cadiz', OIDC_CLIENT_SECRET: 'a secret' };

test.each([
  ['closed', {}, 'Start with CADIZ_SIGN_UP=first'],
  ['closed, with an issuer that lets nobody in', issuer, 'Start with CADIZ_SIGN_UP=first'],
  ['closed, with an issuer that lets people in', { ...issuer, OIDC_SIGN_UP: 'example.com' }, 'OIDC_SIGN_UP lets in'],
])('sign-up is %s: no link and no transcript that would be refused', (_how, settings, told) => {
  const text = welcome({ CADIZ_SIGN_UP: 'closed', ...settings });
  expect(text).toContain(told);
  expect(text).not.toMatch(/\/setup#|sign-up\/email/);
});

test.each(['first', 'open'])('sign-up is %s: a link and a transcript create the first account', (signUp) => {
  expect(welcome({ CADIZ_SIGN_UP: signUp })).toMatch(/\/setup#[\s\S]*sign-up\/email/);
});
