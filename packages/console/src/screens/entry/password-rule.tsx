import { text } from '../../text/text.ts';

/** How far a new password is from long enough, as it is typed. */
export function PasswordRule({ password }: { password: string }) {
  const length = [...password.normalize('NFKC')].length;
  const { passwordRule, passwordLength } = text.setup;
  if (length === 0) return passwordRule;
  return (
    <>
      {passwordLength(length)} {length < 12 && passwordRule}
    </>
  );
}
