import { useQuery } from '@tanstack/react-query';
import { methodsQuery } from '../../queries.ts';
import { later } from '../../text/later.ts';
import { text } from '../../text/text.ts';
import { Page } from '../page.tsx';
import { Passkeys } from './passkeys.tsx';
import { PasswordRow } from './password.tsx';
import { SecondFactorRow } from './second-factor.tsx';
import { Sessions } from './sessions.tsx';
import { You } from './you.tsx';

/** The account that is signed in: whose it is, the ways to sign in, and its sessions. */
export function Account() {
  const { data: methods } = useQuery(methodsQuery);
  const { account } = later;
  return (
    <Page title={text.nav.account}>
      <div className="sets">
        <You />
        {methods?.passkeys && <Passkeys />}
        <section className="set">
          <div>
            <h2>{account.passwordTitle}</h2>
            <p>{account.passwordLead}</p>
          </div>
          <div className="fields">
            <div className="panel frame">
              <PasswordRow />
              <SecondFactorRow isOffered={methods?.secondFactor ?? false} />
            </div>
          </div>
        </section>
        <Sessions />
      </div>
    </Page>
  );
}
