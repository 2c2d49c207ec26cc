import { useSuspenseQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { call } from '../../api.ts';
import { ProblemNote } from '../../components/problem.tsx';
import { beginSession, sessionQuery } from '../../queries.ts';
import { text } from '../../text/text.ts';
import { Entry } from './entry.tsx';
import { useForm } from './form.ts';
import { SignInForm } from './sign-in-form.tsx';
import { Submit } from './submit.tsx';
import { takeToken } from './token.ts';

/** What the link of a message opens that proves an e-mail address. */
export function VerifyEmail() {
  const [token] = useState(takeToken);
  const { data: session } = useSuspenseQuery(sessionQuery);
  const [verified, setVerified] = useState<string>();
  const { onSubmit, error, isPending } = useForm(async () => setVerified((await call('verifyEmail', { token })).email));
  const { signIn } = text;
  if (token === '') return <Entry title={signIn.verifyTitle} lead={signIn.noToken} children={null} />;
  if (verified !== undefined)
    return (
      <Entry title={signIn.verifyTitle} lead={signIn.verifyDone(verified)}>
        <Link to="/projects">{text.errors.toProjects}</Link>
      </Entry>
    );
  if (!session)
    return (
      <Entry title={signIn.verifyTitle}>
        <SignInForm onSignedIn={beginSession} />
      </Entry>
    );
  return (
    <Entry title={signIn.verifyTitle} lead={signIn.verifyLead(session.user.email)}>
      <form className="stack g4" onSubmit={onSubmit}>
        <ProblemNote error={error} />
        <Submit isPending={isPending}>{signIn.verifySubmit}</Submit>
      </form>
    </Entry>
  );
}
