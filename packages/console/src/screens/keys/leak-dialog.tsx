import type { ApiKey } from '@cadiz/client';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { call } from '../../api.ts';
import { now } from '../../clock.ts';
import { Check, Field, Select } from '../../components/field.tsx';
import { FormDialog } from '../../components/form-dialog.tsx';
import { ProblemNote } from '../../components/problem.tsx';
import { toast } from '../../components/toast.tsx';
import { formatBytes } from '../../format.ts';
import { queryClient } from '../../queries.ts';
import { text } from '../../text/text.ts';
import { refresh } from '../files/commands.ts';
import { isEnded } from './expiry.tsx';

const hours = { hour: 1, day: 24, week: 168 } as const;
const choices = ['hour', 'day', 'week', 'made', 'own'] as const;
type Choice = (typeof choices)[number];

/** @returns an ISO timestamp; undefined while `typed` is no moment */
function toSince(choice: Choice, typed: string, { createdAt }: ApiKey): string | undefined {
  if (choice === 'made') return createdAt;
  if (choice !== 'own') return new Date(now() - hours[choice] * 3_600_000).toISOString();
  const at = Date.parse(typed);
  return Number.isNaN(at) ? undefined : new Date(at).toISOString();
}

interface LeakDialogProps {
  apiKey: ApiKey;
  projectId: string;
  onClose: () => void;
}

/** Hides what a leaked key has uploaded since some moment, and says how much that is before it does. */
export function LeakDialog({ apiKey, projectId, onClose }: LeakDialogProps) {
  const [choice, setChoice] = useState<Choice>('made');
  const [typed, setTyped] = useState('');
  const [since, setSince] = useState<string | undefined>(apiKey.createdAt);
  const isWorking = !isEnded(apiKey);
  const { keys } = text;
  function choose(next: Choice, moment: string) {
    setChoice(next);
    setTyped(moment);
    setSince(toSince(next, moment, apiKey));
  }
  const plan = useQuery({
    queryKey: ['quarantine-plan', projectId, apiKey.id, since],
    queryFn: () =>
      call('createQuarantine', { projectId, apiKeyId: apiKey.id, since: since ?? apiKey.createdAt, dryRun: true }),
    enabled: since !== undefined,
    staleTime: 0,
  });
  const { files = 0, bytes = 0 } = plan.data ?? {};
  return (
    <FormDialog
      isDanger
      title={keys.leakTitle(apiKey.name)}
      lead={keys.leakLead}
      submit={keys.quarantine}
      isOff={files === 0}
      onClose={onClose}
      send={async ({ revoke }, close) => {
        if (since === undefined) return;
        if (revoke !== undefined) await call('revokeApiKey', { id: apiKey.id });
        const made = await call('createQuarantine', { projectId, apiKeyId: apiKey.id, since });
        await refreshKeys(projectId);
        close();
        void toast(keys.quarantineDone(made.files));
      }}
    >
      {() => (
        <>
          <Select
            label={keys.since}
            value={choice}
            options={choices.map((value) => ({ value, label: keys.sinces[value] }))}
            onChange={(next) => choose(next, typed)}
          />
          {choice === 'own' && (
            <Field
              label={keys.ownSince}
              type="datetime-local"
              required
              value={typed}
              onChange={({ target }) => choose('own', target.value)}
            />
          )}
          <p className="med" role="status">
            {plan.isPending ? '…' : files === 0 ? keys.concernsNothing : keys.concerns(files, formatBytes(bytes))}
          </p>
          <ProblemNote error={plan.error} />
          {isWorking && <Check name="revoke" defaultChecked label={keys.revokeToo} hint={keys.revokeTooHint} />}
        </>
      )}
    </FormDialog>
  );
}

/** Reads again what changes when files are hidden or come back. */
export async function refreshKeys(projectId: string): Promise<void> {
  const names = ['keys', 'quarantines', 'key-uploads', 'quarantine-plan'];
  await Promise.all([
    ...names.map((name) => queryClient.invalidateQueries({ queryKey: [name, projectId] })),
    refresh(projectId),
  ]);
}
