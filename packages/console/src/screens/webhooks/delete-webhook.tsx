import { call } from '../../api.ts';
import { FormDialog } from '../../components/form-dialog.tsx';
import { toast } from '../../components/toast.tsx';
import { queryClient } from '../../queries.ts';
import { later } from '../../text/later.ts';
import type { Webhook } from './webhook.ts';

const { webhooks } = later;

/** Asks before an endpoint goes, with its deliveries. */
export function DeleteWebhook({ webhook: { projectId, id, url }, onClose }: { webhook: Webhook; onClose: () => void }) {
  return (
    <FormDialog
      isDanger
      title={webhooks.deleteTitle}
      lead={webhooks.deleteLead}
      submit={webhooks.delete}
      onClose={onClose}
      send={async (_, close) => {
        await call('deleteWebhook', { projectId, id });
        await queryClient.invalidateQueries({ queryKey: ['webhooks', projectId] });
        close();
        void toast(webhooks.deleted);
      }}
    >
      {() => <p className="mono wrap-any">{url}</p>}
    </FormDialog>
  );
}
