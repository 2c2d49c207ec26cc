import { useState } from 'react';
import { call } from '../../api.ts';
import { Field } from '../../components/field.tsx';
import { FormDialog } from '../../components/form-dialog.tsx';
import { toast } from '../../components/toast.tsx';
import { queryClient } from '../../queries.ts';
import { later } from '../../text/later.ts';
import { type Account, usersQuery } from './users-query.ts';

/** What is to be done to an account, and is asked before. */
export interface Question {
  kind: 'disable' | 'enable' | 'endSessions' | 'remove';
  user: Account;
}

/** Asks whether to do it, does it, and says that it is done. An account is deleted once its address has been typed. */
export function QuestionDialog({ kind, user, onClose }: Question & { onClose: () => void }) {
  const [typed, setTyped] = useState('');
  const { users } = later;
  const { title, lead, submit, done } = users.questions[kind];
  const isForGood = kind === 'remove';
  return (
    <FormDialog
      title={title(user.name)}
      lead={lead}
      submit={submit}
      isDanger={kind !== 'enable'}
      isOff={isForGood && typed !== user.email}
      onClose={onClose}
      send={async (_, close) => {
        await act(kind, user.id);
        void toast(done(user.name));
        close();
        await queryClient.invalidateQueries({ queryKey: usersQuery.queryKey });
      }}
    >
      {() =>
        isForGood && (
          <Field
            label={users.typeAddress(user.email)}
            value={typed}
            autoComplete="off"
            onChange={({ target }) => setTyped(target.value)}
          />
        )
      }
    </FormDialog>
  );
}

async function act(kind: Question['kind'], userId: string): Promise<void> {
  if (kind === 'remove') await call('removeUser', { userId });
  else if (kind === 'endSessions') await call('endUserSessions', { userId });
  else await call('changeUser', { userId, disabled: kind === 'disable' });
}
