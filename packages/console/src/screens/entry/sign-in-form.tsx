import { useQuery } from '@tanstack/react-query';
import { Fingerprint, LogIn } from 'lucide-react';
import { useEffect, useRef, useState } from 'react';
import { call, codeOf } from '../../api.ts';
import { Button } from '../../components/button.tsx';
import { Field, PasswordField } from '../../components/field.tsx';
import { Avatar } from '../../components/parts.tsx';
import { ProblemNote } from '../../components/problem.tsx';
import { methodsQuery, type Session } from '../../queries.ts';
import { text } from '../../text/text.ts';
import { CodeField } from './code-field.tsx';
import { useForm } from './form.ts';
import { signInWithPasskey } from './passkey.ts';
import { Submit } from './submit.tsx';
import '../../styles/screens/sign-in-form.css';

interface SignInProps {
  /** Called once there is a session. The form is busy until it has ended, and shows what it throws. */
  onSignedIn: () => Promise<void>;
  /** Whose session has ended: asked for the password alone, until it is somebody else. */
  user?: Pick<Session['user'], 'name' | 'email'> | undefined;
  /** Where the issuer leads back to. */
  returnTo?: string;
}

/** What somebody is asked for: e-mail and password, or then a code of the app, or one of those kept for when that is lost. */
export type SignInStep = 'password' | 'code' | 'backup';

/** E-mail and password, the second factor if there is one, and the other ways that are switched on. */
export function SignInForm(props: SignInProps) {
  const [step, setStep] = useState<SignInStep>('password');
  return <SignInSteps {...props} step={step} onStep={setStep} />;
}

interface SignInStepsProps extends SignInProps {
  step: SignInStep;
  onStep: (step: SignInStep) => void;
}

/** The same for a page that says something else at each step, and so holds it. */
export function SignInSteps({ step, onStep, ...props }: SignInStepsProps) {
  if (step === 'password') return <PasswordStep {...props} onCode={() => onStep('code')} />;
  return <CodeStep key={step} isBackup={step === 'backup'} onSignedIn={props.onSignedIn} onStep={onStep} />;
}

function PasswordStep({ onSignedIn, onCode, user, returnTo = '/' }: SignInProps & { onCode: () => void }) {
  const passwordField = useRef<HTMLInputElement>(null);
  const { data: methods } = useQuery(methodsQuery);
  const [isOther, setOther] = useState(false);
  const known = isOther ? undefined : user;
  const { onSubmit, error, isPending } = useForm(async ({ email = '', password = '' }) => {
    const answer = await call('signIn', { email, password });
    if ('twoFactorRedirect' in answer) onCode();
    else await onSignedIn();
  });
  const isWrong = codeOf(error) === 'invalid_email_or_password';
  useEffect(() => {
    if (!isWrong || !passwordField.current) return;
    passwordField.current.value = '';
    passwordField.current.focus();
  }, [isWrong]);
  const passkey = useForm(async () => {
    await signInWithPasskey();
    await onSignedIn();
  });
  const issuer = useForm(async () => {
    const errorCallbackURL = `/sign-in?${new URLSearchParams({ to: returnTo })}`;
    const { url } = await call('signInWithOidc', { provider: 'oidc', callbackURL: returnTo, errorCallbackURL });
    location.assign(url);
  });
  const { signIn } = text;
  return (
    <div className="stack g4">
      {known && (
        <div className="line g3">
          <Avatar name={known.name} size="l" />
          <div className="grow">
            <b className="med clip">
              <bdi>{known.name}</bdi>
            </b>
            <div className="cap quiet clip">{known.email}</div>
          </div>
          <button type="button" className="linklike cap" onClick={() => setOther(true)}>
            {signIn.someoneElse}
          </button>
        </div>
      )}
      {(methods?.passkeys || methods?.oidc) && (
        <>
          <div className="stack g2">
            {methods.passkeys && (
              <form onSubmit={passkey.onSubmit}>
                <Button size="l" className="wide" type="submit" icon={Fingerprint} busy={passkey.isPending}>
                  {signIn.withPasskey}
                </Button>
              </form>
            )}
            {methods.oidc && (
              <form onSubmit={issuer.onSubmit}>
                <Button size="l" className="wide" type="submit" icon={LogIn} busy={issuer.isPending}>
                  {signIn.withIssuer(methods.oidc.name)}
                </Button>
              </form>
            )}
          </div>
          <div className="or">{signIn.or}</div>
        </>
      )}
      <ProblemNote error={error ?? passkey.error ?? issuer.error} />
      <form className="stack g4" onSubmit={onSubmit}>
        {known ? (
          // For password managers, which look for it.
          <input name="email" type="email" autoComplete="username" value={known.email} readOnly hidden />
        ) : (
          <Field
            label={signIn.email}
            name="email"
            type="email"
            autoComplete="username webauthn"
            autoFocus={isOther}
            required
          />
        )}
        <PasswordField
          ref={passwordField}
          label={signIn.password}
          name="password"
          autoComplete="current-password"
          placeholder={isWrong ? signIn.typeAgain : undefined}
          required
        />
        <Submit isPending={isPending}>{known ? signIn.goOn : signIn.submit}</Submit>
      </form>
    </div>
  );
}

interface CodeStepProps extends Pick<SignInStepsProps, 'onSignedIn' | 'onStep'> {
  isBackup: boolean;
}

function CodeStep({ isBackup, onSignedIn, onStep }: CodeStepProps) {
  const { signIn } = text;
  const { onSubmit, error, isPending } = useForm(async ({ code = '' }) => {
    await call(isBackup ? 'verifyBackupCode' : 'verifyTotp', { code: code.replaceAll(' ', '') });
    await onSignedIn();
  });
  const words = isBackup
    ? { lead: signIn.backupLead, label: signIn.backupCode, other: signIn.useApp }
    : { lead: signIn.codeLead, label: signIn.code, other: signIn.useBackupCode };
  return (
    <form className="stack g4" onSubmit={onSubmit}>
      <p className="body second">{words.lead}</p>
      {isBackup ? (
        <Field label={words.label} name="code" autoComplete="off" autoFocus required className="mono" />
      ) : (
        <CodeField label={words.label} name="code" error={error} />
      )}
      <ProblemNote error={error} />
      <Submit isPending={isPending}>{signIn.submit}</Submit>
      <div className="line wrap">
        <button type="button" className="linklike" onClick={() => onStep(isBackup ? 'code' : 'backup')}>
          {words.other}
        </button>
        <span className="grow" />
        <button type="button" className="linklike" onClick={() => onStep('password')}>
          {signIn.startOver}
        </button>
      </div>
    </form>
  );
}
