import { Field } from '../../components/field.tsx';
import { problemOf } from '../../components/problem.tsx';
import { text } from '../../text/text.ts';
import { NewPasswordField } from './new-password-field.tsx';

interface AccountFieldsProps {
  /** Why the form was refused. */
  error: unknown;
  autoFocus?: boolean;
}

/** Who an account is for, and its password: `name`, `email` and `password` of a form that creates one. */
export function AccountFields({ error, autoFocus }: AccountFieldsProps) {
  const { setup } = text;
  return (
    <>
      <Field
        label={setup.name}
        name="name"
        autoComplete="name"
        maxLength={200}
        required
        autoFocus={autoFocus}
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
      <NewPasswordField label={setup.password} name="password" error={error} />
    </>
  );
}
