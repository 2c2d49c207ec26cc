import { CadizError, type ErrorCode } from '@cadiz/client';
import { useSuspenseQuery } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { call } from '../../api.ts';
import { ProblemNote } from '../../components/problem.tsx';
import { beginSession, methodsQuery } from '../../queries.ts';
import { text } from '../../text/text.ts';
import { AccountFields } from './account-fields.tsx';
import { Entry } from './entry.tsx';
import { useForm } from './form.ts';
import { type SignInStep, SignInSteps } from './sign-in-form.tsx';
import { Submit } from './submit.tsx';

/** Why the issuer has led back here without a sign-in. */
function refusalOf(code: string): string {
  const { refusals, notWithIssuer } = text.signIn;
  return Object.hasOwn(refusals, code) ? refusals[code as keyof typeof refusals] : notWithIssuer;
}

export function SignIn() {
  const { data: methods } = useSuspenseQuery(methodsQuery);
  const { to = '/', error } = useSearch({ from: '/sign-in' });
  const [isNew, setNew] = useState(false);
  const [step, setStep] = useState<SignInStep>('password');
  const navigate = useNavigate();
  const { signIn } = text;
  async function enter() {
    await beginSession();
    await navigate({ href: to, replace: true });
  }
  if (isNew)
    return (
      <Entry title={signIn.signUpTitle} lead={signIn.signUpLead}>
        <SignUpForm onSignedUp={enter} />
        <button type="button" className="linklike" onClick={() => setNew(false)}>
          {signIn.haveAccount} {signIn.submit}
        </button>
      </Entry>
    );
  const isFirst = step === 'password';
  return (
    <Entry
      title={signIn.titles[step]}
      lead={
        isFirst && (
          <>
            {signIn.lead} <b className="med">{location.host}</b>
          </>
        )
      }
    >
      <ProblemNote error={isFirst && error && new CadizError(error as ErrorCode, refusalOf(error))} />
      <SignInSteps onSignedIn={enter} returnTo={to} step={step} onStep={setStep} />
      {isFirst && (
        <div className="line wrap">
          <Link to="/forgot-password">{signIn.forgot}</Link>
          {methods.signUp && (
            <button type="button" className="linklike" onClick={() => setNew(true)}>
              {signIn.noAccount} {signIn.createAccount}
            </button>
          )}
        </div>
      )}
    </Entry>
  );
}

interface SignUpFormProps {
  /** Called once there are an account and its session. The form shows what it throws. */
  onSignedUp: () => Promise<void>;
  /** The token of an invitation. */
  invitation?: string;
}

export function SignUpForm({ onSignedUp, invitation }: SignUpFormProps) {
  const { onSubmit, error, isPending } = useForm(async ({ name = '', email = '', password = '' }) => {
    await call('signUp', { name, email, password }, invitation ? { 'X-Invitation': invitation } : {});
    await onSignedUp();
  });
  const { signIn } = text;
  return (
    <form className="stack g4" onSubmit={onSubmit}>
      <AccountFields error={error} />
      <ProblemNote error={error} />
      <Submit isPending={isPending}>{signIn.signUpSubmit}</Submit>
    </form>
  );
}
