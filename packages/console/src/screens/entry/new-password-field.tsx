import { useState } from 'react';
import { PasswordField } from '../../components/field.tsx';
import { problemOf } from '../../components/problem.tsx';
import { text } from '../../text/text.ts';

interface NewPasswordFieldProps {
  label: string;
  name: string;
  /** Why the form was refused. */
  error: unknown;
}

/** A field for a password to be chosen, which says how far it is from long enough, as it is typed. */
export function NewPasswordField({ label, name, error }: NewPasswordFieldProps) {
  const [password, setPassword] = useState('');
  return (
    <PasswordField
      label={label}
      name={name}
      autoComplete="new-password"
      minLength={12}
      required
      hint={<PasswordRule password={password} />}
      problem={problemOf(error, name)}
      onChange={({ target }) => setPassword(target.value)}
    />
  );
}

function PasswordRule({ password }: { password: string }) {
  const length = [...password.normalize('NFKC')].length;
  const { passwordRule, passwordLength } = text.setup;
  if (length === 0) return passwordRule;
  return (
    <>
      {passwordLength(length)} {length < 12 && passwordRule}
    </>
  );
}
