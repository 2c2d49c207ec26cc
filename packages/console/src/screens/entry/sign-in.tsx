import { CadizError, type ErrorCode } from '@cadiz/client';
import { useSuspenseQuery } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { call } from '../../api.ts';
import { Button } from '../../components/button.tsx';
import { Field, PasswordField } from '../../components/field.tsx';
import { ProblemNote, problemOf } from '../../components/problem.tsx';
import { beginSession, methodsQuery } from '../../queries.ts';
import { text } from '../../text/text.ts';
import { Entry } from './entry.tsx';
import { useForm } from './form.ts';
import { PasswordRule } from './password-rule.tsx';
import { SignInForm } from './sign-in-form.tsx';

/** Why the issuer has led back here without a sign-in. */
function refusalOf(code: string): string {
  const { refusals, notWithIssuer } = text.signIn;
  return Object.hasOwn(refusals, code) ? refusals[code as keyof typeof refusals] : notWithIssuer;
}

export function SignIn() {
  const { data: methods } = useSuspenseQuery(methodsQuery);
  const { to = '/', error } = useSearch({ from: '/sign-in' });
  const [isNew, setNew] = useState(false);
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
  return (
    <Entry title={signIn.title} lead={signIn.lead}>
      <ProblemNote error={error && new CadizError(error as ErrorCode, refusalOf(error))} />
      <SignInForm onSignedIn={enter} returnTo={to} />
      <div className="line wrap">
        <Link to="/forgot-password">{signIn.forgot}</Link>
        {methods.signUp && (
          <button type="button" className="linklike" onClick={() => setNew(true)}>
            {signIn.noAccount} {signIn.createAccount}
          </button>
        )}
      </div>
    </Entry>
  );
}

interface SignUpFormProps {
  /** Called with an account and its session there. The form shows what it throws. */
  onSignedUp: () => Promise<void>;
  /** The token of an invitation. */
  invitation?: string;
}

export function SignUpForm({ onSignedUp, invitation }: SignUpFormProps) {
  const [password, setPassword] = useState('');
  const { onSubmit, error, isPending } = useForm(async ({ name = '', email = '', password = '' }) => {
    await call('signUp', { name, email, password }, invitation ? { 'X-Invitation': invitation } : {});
    await onSignedUp();
  });
  const { setup, signIn } = text;
  return (
    <form className="stack g4" onSubmit={onSubmit}>
      <Field
        label={setup.name}
        name="name"
        autoComplete="name"
        maxLength={200}
        required
        problem={problemOf(error, 'name')}
      />
      <Field
        label={setup.email}
        name="email"
        type="email"
        autoComplete="username"
        required
        problem={problemOf(error, 'email')}
      />
      <PasswordField
        label={setup.password}
        name="password"
        autoComplete="new-password"
        minLength={12}
        required
        hint={<PasswordRule password={password} />}
        problem={problemOf(error, 'password')}
        onChange={({ target }) => setPassword(target.value)}
      />
      <ProblemNote error={error} />
      <Button look="main" size="l" className="wide" type="submit" busy={isPending}>
        {signIn.signUpSubmit}
      </Button>
    </form>
  );
}
