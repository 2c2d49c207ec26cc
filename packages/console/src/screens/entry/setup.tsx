import { useSuspenseQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { call } from '../../api.ts';
import { Field } from '../../components/field.tsx';
import { ProblemNote } from '../../components/problem.tsx';
import { methodsQuery, queryClient, readSession } from '../../queries.ts';
import { text } from '../../text/text.ts';
import { AccountFields } from './account-fields.tsx';
import { Entry } from './entry.tsx';
import { useForm } from './form.ts';
import { Steps } from './steps.tsx';
import { Submit } from './submit.tsx';
import { takeToken } from './token.ts';

/** The first account. The link that `npm start` prints carries the setup token. */
export function Setup() {
  const { data: methods } = useSuspenseQuery(methodsQuery);
  const navigate = useNavigate();
  const [token] = useState(takeToken);
  const { onSubmit, error, isPending } = useForm(async ({ name = '', email = '', password = '', token: typed }) => {
    const given = typed?.trim() || token;
    await call('signUp', { name, email, password }, given ? { 'X-Setup-Token': given } : {});
    await queryClient.invalidateQueries({ queryKey: methodsQuery.queryKey });
    await readSession();
    await navigate({ to: '/projects/new' });
  });
  const { setup } = text;
  return (
    <Entry title={setup.title} lead={setup.lead} above={<Steps current={0} />}>
      <form className="stack g4" onSubmit={onSubmit}>
        <AccountFields error={error} autoFocus />
        {methods.setup?.tokenRequired && !token && (
          <Field
            label={setup.token}
            name="token"
            placeholder={setup.tokenPlaceholder}
            hint={setup.tokenHint}
            required
            className="mono"
          />
        )}
        <ProblemNote error={error} />
        <Submit isPending={isPending}>{setup.createOwner}</Submit>
      </form>
    </Entry>
  );
}
