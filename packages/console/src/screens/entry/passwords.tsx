import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { call } from '../../api.ts';
import { Check, Field } from '../../components/field.tsx';
import { ProblemNote } from '../../components/problem.tsx';
import { text } from '../../text/text.ts';
import { Entry } from './entry.tsx';
import { useForm } from './form.ts';
import { NewPasswordField } from './new-password-field.tsx';
import { Submit } from './submit.tsx';
import { takeToken } from './token.ts';

export function ForgotPassword() {
  const [isSent, setSent] = useState(false);
  const { onSubmit, error, isPending } = useForm(async ({ email = '' }) => {
    await call('requestPasswordReset', { email });
    setSent(true);
  });
  const { signIn } = text;
  return (
    <Entry title={signIn.forgotTitle} lead={isSent ? signIn.forgotSent : signIn.forgotLead}>
      {!isSent && (
        <form className="stack g4" onSubmit={onSubmit}>
          <Field label={signIn.email} name="email" type="email" autoComplete="username" required />
          <ProblemNote error={error} />
          <Submit isPending={isPending}>{signIn.forgotSubmit}</Submit>
        </form>
      )}
      <Link to="/sign-in">{signIn.title}</Link>
    </Entry>
  );
}

/** What the link of a message opens that lets somebody choose a new password. */
export function ResetPassword() {
  const [token] = useState(takeToken);
  const [done, setDone] = useState<string>();
  const { signIn } = text;
  const { onSubmit, error, isPending } = useForm(async ({ newPassword = '', revokeApiKeys }) => {
    const answer = await call('resetPassword', { token, newPassword, revokeApiKeys: revokeApiKeys !== undefined });
    setDone(signIn.resetDone(answer.endedSessions));
  });
  const lead = token === '' ? signIn.noToken : (done ?? signIn.resetLead);
  return (
    <Entry title={signIn.resetTitle} lead={lead}>
      {token !== '' && done === undefined && (
        <form className="stack g4" onSubmit={onSubmit}>
          <NewPasswordField label={signIn.newPassword} name="newPassword" error={error} />
          <Check label={signIn.revokeKeys} name="revokeApiKeys" />
          <ProblemNote error={error} />
          <Submit isPending={isPending}>{signIn.resetSubmit}</Submit>
        </form>
      )}
      <Link to="/sign-in">{signIn.title}</Link>
    </Entry>
  );
}
