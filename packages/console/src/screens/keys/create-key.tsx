import type { Scope } from '@cadiz/client';
import { useState } from 'react';
import { call } from '../../api.ts';
import { Button } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { Check, Field, Select } from '../../components/field.tsx';
import { ProblemNote, problemOf } from '../../components/problem.tsx';
import { queryClient } from '../../queries.ts';
import { text } from '../../text/text.ts';
import { useForm } from '../entry/form.ts';

const scopes: readonly Scope[] = ['files:read', 'files:write', 'files:delete'];
const days = { month: 30, quarter: 90, year: 365, never: undefined } as const;
type Lifetime = keyof typeof days;

interface CreateKeyProps {
  open: boolean;
  projectId: string;
  onClose: () => void;
  /** Gets the secret, which is held nowhere else. */
  onCreated: (secret: string) => void;
}

export function CreateKey({ open, projectId, onClose, onCreated }: CreateKeyProps) {
  const [lifetime, setLifetime] = useState<Lifetime>('never');
  const { keys } = text;
  const { onSubmit, error, isPending, reset } = useForm(async (fields) => {
    const duration = days[lifetime];
    const { key } = await call('createApiKey', {
      name: fields.name ?? '',
      projectId,
      scopes: scopes.filter((scope) => fields[scope] !== undefined),
      ...(duration !== undefined && { expiresAt: new Date(Date.now() + duration * 86_400_000).toISOString() }),
    });
    await queryClient.invalidateQueries({ queryKey: ['keys', projectId] });
    close();
    onCreated(key);
  });
  function close() {
    reset();
    onClose();
  }
  const options = (Object.keys(days) as Lifetime[]).map((value) => ({ value, label: keys.lifetimes[value] }));
  const problem = problemOf(error, 'name');
  return (
    <Dialog
      open={open}
      onClose={close}
      title={keys.create}
      lead={keys.lead}
      footer={
        <>
          <Button onClick={close}>{text.common.cancel}</Button>
          <Button look="main" type="submit" form="create-key" busy={isPending}>
            {keys.create}
          </Button>
        </>
      }
    >
      <form id="create-key" className="stack g4" onSubmit={onSubmit}>
        <Field
          label={keys.name}
          name="name"
          placeholder={keys.nameExample}
          maxLength={200}
          required
          problem={problem}
        />
        <fieldset className="stack g2">
          <legend className="label">{keys.may}</legend>
          {scopes.map((scope) => (
            <Check key={scope} name={scope} defaultChecked={scope !== 'files:delete'} label={keys.scopes[scope]} />
          ))}
        </fieldset>
        <Select label={keys.expires} value={lifetime} options={options} onChange={setLifetime} />
        {!problem && <ProblemNote error={error} />}
      </form>
    </Dialog>
  );
}
