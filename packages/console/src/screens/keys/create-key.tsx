import type { Scope } from '@cadiz/client';
import { useState } from 'react';
import { call } from '../../api.ts';
import { now } from '../../clock.ts';
import { Field, Select } from '../../components/field.tsx';
import { FormDialog } from '../../components/form-dialog.tsx';
import { problemOf } from '../../components/problem.tsx';
import { queryClient } from '../../queries.ts';
import { text } from '../../text/text.ts';
import type { NewKey } from './key-secret.tsx';
import { expiryOf, type Lifetime, lifetimes, ScopeChecks, toDay, usualScopes } from './key-terms.tsx';
import { type Reach, ReachField } from './reach-field.tsx';

interface CreateKeyProps {
  projectId: string;
  onClose: () => void;
  onCreated: (created: NewKey) => void;
}

export function CreateKey({ projectId, onClose, onCreated }: CreateKeyProps) {
  const [reach, setReach] = useState<Reach>(null);
  const [chosen, setChosen] = useState<readonly Scope[]>(usualScopes);
  const [lifetime, setLifetime] = useState<Lifetime>('quarter');
  const { keys } = text;
  return (
    <FormDialog
      title={keys.create}
      lead={keys.lead}
      submit={keys.create}
      isOff={reach === undefined || chosen.length === 0}
      isSecret
      onClose={onClose}
      send={async ({ name = '', day = '' }, close) => {
        const terms = { folderId: reach ?? null, scopes: [...chosen], expiresAt: expiryOf(lifetime, day) };
        const { key } = await call('createApiKey', { name, projectId, ...terms });
        // At once: the list, which comes later, does not have the secret.
        close();
        onCreated({ name, secret: key, ...terms });
        await queryClient.invalidateQueries({ queryKey: ['keys', projectId] });
      }}
    >
      {(error) => (
        <>
          <Field
            label={keys.name}
            name="name"
            placeholder={keys.nameExample}
            hint={keys.nameHint}
            maxLength={200}
            required
            problem={problemOf(error, 'name')}
          />
          <ReachField projectId={projectId} label={keys.reaches} value={reach} onChange={setReach} />
          <ScopeChecks chosen={chosen} onChange={setChosen} />
          <Select
            label={keys.expires}
            value={lifetime}
            options={lifetimes.map((value) => ({ value, label: keys.lifetimes[value] }))}
            onChange={setLifetime}
          />
          {lifetime === 'own' && (
            <Field
              label={keys.lastDay}
              name="day"
              type="date"
              min={toDay(new Date(now()))}
              max="9998-12-31"
              required
              problem={problemOf(error, 'expiresAt')}
            />
          )}
        </>
      )}
    </FormDialog>
  );
}
