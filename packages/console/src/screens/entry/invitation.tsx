import { useSuspenseQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { call } from '../../api.ts';
import { ProblemNote } from '../../components/problem.tsx';
import { beginSession, sessionQuery } from '../../queries.ts';
import { text } from '../../text/text.ts';
import { Entry } from './entry.tsx';
import { useForm } from './form.ts';
import { SignUpForm } from './sign-in.tsx';
import { SignInForm } from './sign-in-form.tsx';
import { Submit } from './submit.tsx';
import { takeToken } from './token.ts';

/** What the link of an invitation opens: with an account, one click; without, the account is made here. */
export function Invitation() {
  const [token] = useState(takeToken);
  const { data: session } = useSuspenseQuery(sessionQuery);
  const [hasAccount, setHasAccount] = useState(false);
  const navigate = useNavigate();
  const accept = useForm(async () => {
    const { projectId } = await call('acceptInvitation', { token });
    await beginSession();
    await navigate({ to: '/projects/$projectId/files', params: { projectId } });
  });
  const leave = useForm(async () => {
    await call('signOut', {});
    await beginSession();
  });
  const { signIn } = text;
  if (token === '') return <Entry title={signIn.invitationTitle} lead={signIn.noToken} children={null} />;
  if (session)
    return (
      <Entry
        title={signIn.invitationTitle}
        lead={`${signIn.invitationLead} ${signIn.invitationAs(session.user.email)}`}
      >
        <form className="stack g4" onSubmit={accept.onSubmit}>
          <ProblemNote error={accept.error ?? leave.error} />
          <Submit isPending={accept.isPending}>{signIn.accept}</Submit>
        </form>
        <form onSubmit={leave.onSubmit}>
          <button type="submit" className="linklike">
            {signIn.otherAccount}
          </button>
        </form>
      </Entry>
    );
  async function enter() {
    await beginSession();
    await navigate({ to: '/projects' });
  }
  return (
    <Entry title={signIn.invitationTitle} lead={hasAccount ? signIn.invitationLead : signIn.invitationSignUp}>
      {hasAccount ? <SignInForm onSignedIn={beginSession} /> : <SignUpForm invitation={token} onSignedUp={enter} />}
      <button type="button" className="linklike" onClick={() => setHasAccount(!hasAccount)}>
        {hasAccount ? `${signIn.noAccount} ${signIn.createAccount}` : `${signIn.haveAccount} ${signIn.submit}`}
      </button>
    </Entry>
  );
}
