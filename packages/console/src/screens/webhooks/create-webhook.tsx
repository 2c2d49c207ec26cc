import type { Answer } from '@cadiz/contract';
import { call } from '../../api.ts';
import { FormDialog } from '../../components/form-dialog.tsx';
import { later } from '../../text/later.ts';
import { toEndpoint, WebhookFields } from './webhook-fields.tsx';

const { webhooks } = later;

interface CreateWebhookProps {
  projectId: string;
  onClose: () => void;
  /** Gets the endpoint with its secret, which is held nowhere else. */
  onCreated: (webhook: Answer<'createWebhook'>) => void;
}

export function CreateWebhook({ projectId, onClose, onCreated }: CreateWebhookProps) {
  return (
    <FormDialog
      title={webhooks.create}
      submit={webhooks.create}
      isSecret
      onClose={onClose}
      send={async (fields, close) => {
        const created = await call('createWebhook', { projectId, ...toEndpoint(fields) });
        close();
        onCreated(created);
      }}
    >
      {(error) => <WebhookFields error={error} />}
    </FormDialog>
  );
}
