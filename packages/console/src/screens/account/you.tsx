import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { call } from '../../api.ts';
import { Button } from '../../components/button.tsx';
import { Select } from '../../components/field.tsx';
import { Avatar, Badge } from '../../components/parts.tsx';
import { ProblemNote } from '../../components/problem.tsx';
import { toast } from '../../components/toast.tsx';
import { useUser } from '../../queries.ts';
import { later } from '../../text/later.ts';
import { language, languages, setLanguage, text } from '../../text/text.ts';
import { readTheme, setTheme, type Theme } from '../../theme.ts';

/** Who is signed in, whether the address is confirmed, and how the console looks to them. */
export function You() {
  const { name, email, emailVerified } = useUser();
  const { account } = later;
  const { nav } = text;
  const [theme, keepTheme] = useState(readTheme);
  const themes: readonly Theme[] = ['system', 'light', 'dark'];
  return (
    <section className="set">
      <div>
        <h2>{account.youTitle}</h2>
      </div>
      <div className="fields">
        <div className="line g3">
          <Avatar name={name} size="l" />
          <div className="grow">
            <b className="med clip">
              <bdi>{name}</bdi>
            </b>
            <div className="quiet clip">
              <bdi>{email}</bdi>
            </div>
          </div>
          {emailVerified && <Badge tone="ok">{account.verified}</Badge>}
        </div>
        {!emailVerified && <Verification email={email} />}
        <Select
          label={nav.appearance}
          value={theme}
          options={themes.map((value) => ({ value, label: nav[value] }))}
          onChange={(chosen) => {
            setTheme(chosen);
            keepTheme(chosen);
          }}
        />
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
