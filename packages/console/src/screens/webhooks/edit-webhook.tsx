import { call } from '../../api.ts';
import { FormDialog } from '../../components/form-dialog.tsx';
import { toast } from '../../components/toast.tsx';
import { queryClient } from '../../queries.ts';
import { later } from '../../text/later.ts';
import { text } from '../../text/text.ts';
import type { Webhook } from './webhook.ts';
import { toEndpoint, WebhookFields } from './webhook-fields.tsx';

const { webhooks } = later;

/** Changes where an endpoint is and what it gets. Its secret and its deliveries stay. */
export function EditWebhook({ webhook, onClose }: { webhook: Webhook; onClose: () => void }) {
  const { projectId, id } = webhook;
  return (
    <FormDialog
      title={webhooks.editTitle}
      lead={webhooks.editLead}
      submit={text.common.save}
      onClose={onClose}
      send={async (fields, close) => {
        await call('changeWebhook', { projectId, id, ...toEndpoint(fields) });
        await queryClient.invalidateQueries({ queryKey: ['webhooks', projectId] });
        close();
        void toast(webhooks.edited);
      }}
    >
      {(error) => <WebhookFields webhook={webhook} error={error} />}
    </FormDialog>
  );
}
