import { useMutation } from '@tanstack/react-query';
import { useId, useSyncExternalStore } from 'react';
import { call } from '../../api.ts';
import { Button } from '../../components/button.tsx';
import { Select } from '../../components/field.tsx';
import { Avatar, Badge } from '../../components/parts.tsx';
import { ProblemNote } from '../../components/problem.tsx';
import { toast } from '../../components/toast.tsx';
import { useUser } from '../../queries.ts';
import { later } from '../../text/later.ts';
import { language, languages, setLanguage, text } from '../../text/text.ts';
import { setTheme, theme } from '../../theme.ts';
import { themeIcons, themes } from '../shell/use-account-actions.ts';
import { useSignOutAsking } from '../shell/use-sign-out.ts';

/** Who is signed in, whether the address is confirmed, and how the console looks to them. */
export function You() {
  const { name, email, emailVerified } = useUser();
  const { account } = later;
  const { nav } = text;
  const signOut = useSignOutAsking();
  return (
    <section className="set">
      <div>
        <h2>{account.youTitle}</h2>
      </div>
      <div className="fields">
        <div className="line g3">
          <Avatar name={name} size="l" />
          <div className="grow">
            <span className="line">
              <b className="med clip">
                <bdi>{name}</bdi>
              </b>
              {emailVerified && <Badge tone="ok">{account.verified}</Badge>}
            </span>
            <div className="quiet clip">
              <bdi>{email}</bdi>
            </div>
          </div>
          <Button size="s" onClick={signOut}>
            {nav.signOut}
          </Button>
        </div>
        {!emailVerified && <Verification email={email} />}
        <Appearance />
        <Select
          label={nav.language}
          value={language}
          options={[
            { value: 'en', label: languages.en },
            { value: 'de', label: languages.de },
          ]}
          onChange={setLanguage}
        />
      </div>
    </section>
  );
}

function Appearance() {
  const id = useId();
  const chosen = useSyncExternalStore(theme.subscribe, theme.read);
  const { nav } = text;
  return (
    <div className="field">
      <span className="label" id={id}>
        {nav.appearance}
      </span>
      <fieldset className="segs wide" aria-labelledby={id}>
        {themes.map((one) => {
          const Icon = themeIcons[one];
          return (
            <button key={one} type="button" aria-pressed={one === chosen} onClick={() => setTheme(one)}>
              <Icon className="i" aria-hidden="true" />
              {nav[one]}
            </button>
          );
        })}
      </fieldset>
    </div>
  );
}

/** Sends the message that confirms the address again; a service without mail says so. */
function Verification({ email }: { email: string }) {
  const { account } = later;
  const send = useMutation({
    mutationFn: () => call('sendEmailVerification', {}),
    onSuccess: () => toast(account.verificationSent(email)),
  });
  return (
    <div className="stack g3">
      <div className="line">
        <span className="grow second">{account.notVerified}</span>
        <Button size="s" busy={send.isPending} onClick={() => send.mutate()}>
          {account.sendVerification}
        </Button>
      </div>
      <ProblemNote error={send.error} />
    </div>
  );
}
