import type { ApiKey } from '@cadiz/client';
import { useState } from 'react';
import { call } from '../../api.ts';
import { now } from '../../clock.ts';
import { Button } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { Select } from '../../components/field.tsx';
import { FormDialog } from '../../components/form-dialog.tsx';
import { formatMoment } from '../../format.ts';
import { queryClient, useRole, useUser } from '../../queries.ts';
import { text } from '../../text/text.ts';
import type { NewKey } from './key-secret.tsx';

const overlaps = { none: 0, hour: 3600, day: 86_400, week: 604_800 } as const;
type Overlap = keyof typeof overlaps;
const choices: readonly Overlap[] = ['none', 'hour', 'day', 'week'];

/** Until when the old key works: never longer than it would anyway. */
function endOf({ expiresAt }: ApiKey, overlap: Overlap): string {
  const end = now() + overlaps[overlap] * 1000;
  return new Date(expiresAt === null ? end : Math.min(end, Date.parse(expiresAt))).toISOString();
}

interface RotateKeyProps {
  apiKey: ApiKey;
  projectId: string;
  onClose: () => void;
  onRotated: (created: NewKey) => void;
}

/** Asks how long the old key goes on. Whoever may not rotate it is told why. */
export function RotateKey({ apiKey, projectId, onClose, onRotated }: RotateKeyProps) {
  const isOwner = useRole(projectId) === 'owner';
  const isOwn = apiKey.createdBy.userId === useUser().id;
  const [overlap, setOverlap] = useState<Overlap>('day');
  const { keys } = text;
  if (!isOwn && !isOwner)
    return (
      <Dialog
        open
        onClose={onClose}
        title={keys.rotateTitle(apiKey.name)}
        lead={keys.rotateOwners}
        footer={<Button onClick={onClose}>{text.common.close}</Button>}
      />
    );
  return (
    <FormDialog
      title={keys.rotateTitle(apiKey.name)}
      lead={keys.rotateLead}
      submit={keys.rotate}
      isSecret
      onClose={onClose}
      send={async (_, close) => {
        const { key } = await call('rotateApiKey', { id: apiKey.id, overlapSeconds: overlaps[overlap] });
        // At once: the list, which comes later, does not have the secret.
        close();
        // Its terms are those of the old one.
        onRotated({ ...apiKey, secret: key });
        await queryClient.invalidateQueries({ queryKey: ['keys', projectId] });
      }}
    >
      {() => (
        <>
          <Select
            label={keys.overlap}
            value={overlap}
            options={choices.map((value) => ({ value, label: keys.overlaps[value] }))}
            onChange={setOverlap}
            hint={overlap === 'none' ? keys.oldEnds : keys.oldUntil(formatMoment(endOf(apiKey, overlap)))}
          />
          {!isOwn && <p className="second">{keys.rotatesToYou}</p>}
        </>
      )}
    </FormDialog>
  );
}
