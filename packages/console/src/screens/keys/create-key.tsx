import type { Scope } from '@cadiz/client';
import { useState } from 'react';
import { call } from '../../api.ts';
import { Check, Field, Select } from '../../components/field.tsx';
import { FormDialog } from '../../components/form-dialog.tsx';
import { problemOf } from '../../components/problem.tsx';
import { queryClient } from '../../queries.ts';
import { text } from '../../text/text.ts';
import { type Reach, ReachField } from './reach-field.tsx';

const scopes: readonly Scope[] = ['files:read', 'files:write', 'files:delete'];
const days = { month: 30, quarter: 90, year: 365 } as const;
const lifetimes = ['month', 'quarter', 'year', 'never', 'own'] as const;
type Lifetime = (typeof lifetimes)[number];

const dayMilliseconds = 86_400_000;

/** A day of this time zone as date fields have it. */
const toDay = (at: Date) => new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 10);

/** @param day the last day, for a date of one's own: the key expires with its end here */
function expiryOf(lifetime: Lifetime, day: string): string | null {
  if (lifetime === 'never') return null;
  if (lifetime === 'own') return new Date(`${day}T23:59:59`).toISOString();
  return new Date(Date.now() + days[lifetime] * dayMilliseconds).toISOString();
}

interface CreateKeyProps {
  projectId: string;
  onClose: () => void;
  /** Gets the secret, which is held nowhere else. */
  onCreated: (secret: string) => void;
}

export function CreateKey({ projectId, onClose, onCreated }: CreateKeyProps) {
  const [reach, setReach] = useState<Reach>(null);
  const [chosen, setChosen] = useState<readonly Scope[]>(['files:read', 'files:write']);
  const [lifetime, setLifetime] = useState<Lifetime>('quarter');
  const { keys } = text;
  return (
    <FormDialog
      title={keys.create}
      lead={keys.lead}
      submit={keys.create}
      isOff={reach === undefined || chosen.length === 0}
      onClose={onClose}
      send={async ({ name = '', day = '' }) => {
        const { key } = await call('createApiKey', {
          name,
          projectId,
          folderId: reach ?? null,
          scopes: [...chosen],
          expiresAt: expiryOf(lifetime, day),
        });
        await queryClient.invalidateQueries({ queryKey: ['keys', projectId] });
        onCreated(key);
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
          <fieldset className="stack g2">
            <legend className="label">{keys.may}</legend>
            {scopes.map((scope) => (
              <Check
                key={scope}
                checked={chosen.includes(scope)}
                onChange={({ target }) =>
                  setChosen(scopes.filter((one) => (one === scope ? target.checked : chosen.includes(one))))
                }
                label={keys.scopes[scope]}
              />
            ))}
            {chosen.length === 0 && (
              <span className="hint bad" role="alert">
                {keys.mayNothing}
              </span>
            )}
          </fieldset>
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
              min={toDay(new Date())}
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
