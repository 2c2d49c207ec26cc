import type { CreatedTicket } from '@cadiz/client';
import { useState } from 'react';
import { clientOf } from '../../api.ts';
import { Check, Field, Select } from '../../components/field.tsx';
import { FormDialog } from '../../components/form-dialog.tsx';
import { problemOf } from '../../components/problem.tsx';
import { queryClient } from '../../queries.ts';
import { text } from '../../text/text.ts';
import { type Reach, ReachField } from '../keys/reach-field.tsx';
import { bytesOf, type Unit, units } from '../settings/draft.ts';

const lifetimes = { quarter: 900, hour: 3600, shift: 28_800, day: 86_400 } as const;
type Lifetime = keyof typeof lifetimes;
const choices: readonly Lifetime[] = ['quarter', 'hour', 'shift', 'day'];

/** What is listed in a field; undefined if nothing is. */
function listOf(words = ''): string[] | undefined {
  const list = words.split(/[\s,]+/).filter((word) => word !== '');
  return list.length > 0 ? list : undefined;
}

interface CreateTicketProps {
  projectId: string;
  onClose: () => void;
  /** Gets the ticket with its secret, which is held nowhere else. */
  onCreated: (ticket: CreatedTicket) => void;
}

export function CreateTicket({ projectId, onClose, onCreated }: CreateTicketProps) {
  const [reach, setReach] = useState<Reach>(null);
  const [unit, setUnit] = useState<Unit>('MB');
  const [lifetime, setLifetime] = useState<Lifetime>('quarter');
  const { tickets } = text;
  return (
    <FormDialog
      title={tickets.create}
      submit={tickets.create}
      isOff={reach === undefined}
      isSecret
      onClose={onClose}
      send={async ({ files, amount = '', types, origins, autoRecord }, close) => {
        const mimeTypes = listOf(types);
        const pages = listOf(origins);
        const created = await clientOf(projectId).tickets.create({
          folderId: reach ?? null,
          maxFiles: Number(files),
          maxBytes: bytesOf({ amount, unit }) ?? 0,
          expiresIn: lifetimes[lifetime],
          autoRecord: autoRecord === 'on',
          ...(mimeTypes && { mimeTypes }),
          ...(pages && { origins: pages }),
        });
        // At once: the list, which comes later, does not have the secret.
        close();
        onCreated(created);
        await queryClient.invalidateQueries({ queryKey: ['tickets', projectId] });
      }}
    >
      {(error) => (
        <>
          <ReachField projectId={projectId} label={tickets.reaches} value={reach} onChange={setReach} />
          <div className="cols2">
            <Field
              label={tickets.maxFiles}
              name="files"
              type="number"
              min={1}
              max={10_000}
              defaultValue={20}
              required
              problem={problemOf(error, 'maxFiles')}
            />
            <Field
              label={tickets.maxBytes}
              name="amount"
              inputMode="decimal"
              pattern="[0-9]+([.,][0-9]+)?"
              defaultValue={100}
              required
              problem={problemOf(error, 'maxBytes')}
              after={
                <select
                  className="unit"
                  aria-label={tickets.unit}
                  value={unit}
                  onChange={({ target }) => setUnit(units.find((one) => one === target.value) ?? unit)}
                >
                  {units.map((one) => (
                    <option key={one}>{one}</option>
                  ))}
                </select>
              }
            />
          </div>
          <Field
            label={tickets.types}
            name="types"
            placeholder={tickets.everyType}
            hint={tickets.typesHint}
            problem={problemOf(error, 'mimeTypes')}
          />
          <Field
            label={tickets.origins}
            name="origins"
            hint={tickets.originsHint}
            problem={problemOf(error, 'origins')}
          />
          <Select
            label={tickets.lifetime}
            value={lifetime}
            options={choices.map((value) => ({ value, label: tickets.lifetimes[value] }))}
            onChange={setLifetime}
          />
          <Check label={tickets.autoRecord} hint={tickets.autoRecordHint} name="autoRecord" />
        </>
      )}
    </FormDialog>
  );
}
