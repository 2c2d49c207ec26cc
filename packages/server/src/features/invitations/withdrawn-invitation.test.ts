import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openBrowser } from '../../../test/browser.ts';
import { openTestDatabase, testableKinds } from '../../../test/database.ts';
import { startTestIssuer, type TestIssuer } from '../../../test/oidc-issuer.ts';
import { type Answer, type Person, startTestService, type TestService } from '../../../test/service.ts';
import { createPasswords } from '../../identity/passwords/passwords.ts';

const rounds = 30;

/** On PostgreSQL, two processes: the sign-up goes to one, the withdrawal to the other. */
describe.each(testableKinds)('an invitation withdrawn during a sign-up with it (%s)', (kind) => {
  let service: TestService;
  let closed: TestService;
  let issuer: TestIssuer;
  let ada: Person;
  let projectId: string;
  /** What starts while the password is hashed: after the invitation was checked, and before the account exists. */
  let meanwhile: () => void = () => undefined;

  beforeAll(async () => {
    service = await startTestService({ db: await openTestDatabase(kind) });
    ada = await service.signUp('Ada');
    projectId = await service.createProject(ada);
    issuer = await startTestIssuer();
    const passwords = createPasswords();
    const hash = (secret: string) => {
      meanwhile();
      return passwords.hash(secret);
    };
    closed = await startTestService({
      beside: service,
      settings: {
        CADIZ_SIGN_UP: 'first',
        OIDC_ISSUER: issuer.url,
        OIDC_CLIENT_ID: issuer.clientId,
        OIDC_CLIENT_SECRET: issuer.clientSecret,
      },
      passwords: { ...passwords, hash },
    });
  });
  afterAll(async () => {
    await closed.close();
    await service.close();
    await issuer.stop();
  });

  const outcome = ({ status, body }: Answer) => (status === 200 ? 200 : `${status} ${body.code}`);

  async function invite(email: string): Promise<{ id: string; token: string }> {
    const body = { email, role: 'editor' };
    const answer = await service.call('POST', `/api/projects/${projectId}/invitations`, { as: ada, body });
    return { id: answer.body.id, token: answer.body.url.split('#')[1] };
  }
  const withdraw = (id: string) =>
    service.call('DELETE', `/api/projects/${projectId}/invitations/${id}`, { as: ada }).then(outcome);
  const signUp = (email: string, token: string) =>
    closed
      .call('POST', '/api/auth/sign-up/email', {
        body: { name: 'Eve', email, password: 'correct horse battery' },
        headers: { 'X-Invitation': token },
      })
      .then(outcome);

  /** Everything that a sign-up writes. */
  async function countTraces(email: string): Promise<Record<string, number>> {
    const { rows } = await service.deps.db.pool.query(
      `with eve as (select id from users where email = $1)
       select (select count(*)::int from eve) as users,
              (select count(*)::int from accounts where user_id in (select id from eve)) as accounts,
              (select count(*)::int from sessions where user_id in (select id from eve)) as sessions,
              (select count(*)::int from project_members where user_id in (select id from eve)) as members,
              (select count(*)::int from audit_events where user_id in (select id from eve) and type = 'account.created') as created,
              (select count(*)::int from audit_events where user_id in (select id from eve) and type = 'member.added') as added`,
      [email],
    );
    return rows[0];
  }
  const nothing = { users: 0, accounts: 0, sessions: 0, members: 0, created: 0, added: 0 };
  const everything = { users: 1, accounts: 1, sessions: 1, members: 1, created: 1, added: 1 };

  test(`is either used or withdrawn, completely, in ${rounds} races`, async () => {
    const seen = new Set<string>();
    let delayMilliseconds = 1;
    for (let round = 0; round < rounds; round++) {
      const email = `${randomUUID()}@example.com`;
      const { id, token } = await invite(email);
      let withdrawn: Promise<string | number> = Promise.resolve('');
      meanwhile = () => {
        withdrawn = new Promise((resolve) => setTimeout(resolve, delayMilliseconds)).then(() => withdraw(id));
      };
      const signedUp = await signUp(email, token);
      meanwhile = () => undefined;
      const traces = await countTraces(email);
      if (signedUp === 200) {
        expect(await withdrawn).toBe('404 invitation_not_found');
        expect(traces).toEqual(everything);
      } else {
        expect([signedUp, await withdrawn]).toEqual(['404 invitation_not_found', 200]);
        expect(traces).toEqual(nothing);
      }
      seen.add(String(signedUp));
      // Closer to the moment at which the two meet, however fast the machine is.
      delayMilliseconds = signedUp === 200 ? delayMilliseconds * 0.7 : delayMilliseconds * 1.6 + 1;
    }
    expect([...seen].sort()).toEqual(['200', '404 invitation_not_found']);
  });

  test(`is either used or withdrawn in ${rounds} races with a first sign-in through an issuer, too`, async () => {
    const seen = new Set<number>();
    for (let round = 0; round < rounds; round++) {
      const email = `${randomUUID()}@example.com`;
      const { id, token } = await invite(email);
      issuer.person = { sub: randomUUID(), email, email_verified: true, name: 'Eve' };
      const browser = openBrowser(closed);
      const headers = { 'X-Invitation': token };
      const begun = await browser.call('POST', '/api/auth/sign-in/social', { body: { provider: 'oidc' }, headers });
      const back = await fetch(begun.body.url, { redirect: 'manual' });
      const { pathname, search } = new URL(back.headers.get('location') ?? '');
      const finishing = browser.call('GET', pathname + search);
      await new Promise((resolve) => setTimeout(resolve, round));
      const withdrawn = await withdraw(id);
      const { status } = await finishing;
      seen.add(status);
      const traces = await countTraces(email);
      if (status === 302) {
        expect(withdrawn).toBe('404 invitation_not_found');
        expect(traces).toEqual(everything);
      } else {
        expect([status, withdrawn]).toEqual([404, 200]);
        expect(traces).toEqual(nothing);
      }
    }
    expect(seen).toContain(404);
  });
});
