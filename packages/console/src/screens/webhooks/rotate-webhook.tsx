import type { Answer } from '@cadiz/contract';
import { useState } from 'react';
import { call } from '../../api.ts';
import { Select } from '../../components/field.tsx';
import { FormDialog } from '../../components/form-dialog.tsx';
import { later } from '../../text/later.ts';
import type { Webhook } from './webhook.ts';

const { webhooks } = later;

const overlaps = { none: 0, hour: 3600, day: 86_400, week: 604_800 } as const;
type Overlap = keyof typeof overlaps;
const choices: readonly Overlap[] = ['none', 'hour', 'day', 'week'];

interface RotateWebhookProps {
  webhook: Webhook;
  onClose: () => void;
  /** Gets the endpoint with its new secret, which is held nowhere else. */
  onRotated: (webhook: Answer<'rotateWebhook'>) => void;
}

export function RotateWebhook({ webhook: { projectId, id, url }, onClose, onRotated }: RotateWebhookProps) {
  const [overlap, setOverlap] = useState<Overlap>('day');
  return (
    <FormDialog
      title={webhooks.rotate}
      lead={webhooks.rotateLead}
      submit={webhooks.rotate}
      isSecret
      onClose={onClose}
      send={async (_, close) => {
        const rotated = await call('rotateWebhook', { projectId, id, overlapSeconds: overlaps[overlap] });
        close();
        onRotated(rotated);
      }}
    >
      {() => (
        <>
          <p className="mono wrap-any">{url}</p>
          <Select
            label={webhooks.overlap}
            value={overlap}
            options={choices.map((value) => ({ value, label: webhooks.overlaps[value] }))}
            onChange={setOverlap}
          />
        </>
      )}
    </FormDialog>
  );
}
