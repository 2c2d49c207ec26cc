import type { ApiKey } from '@cadiz/client';
import { call } from '../../api.ts';
import { FormDialog } from '../../components/form-dialog.tsx';
import { toast } from '../../components/toast.tsx';
import { formatAgo } from '../../format.ts';
import { queryClient } from '../../queries.ts';
import { text } from '../../text/text.ts';

interface RevokeKeyProps {
  apiKey: ApiKey;
  projectId: string;
  onClose: () => void;
}

/** Asks before a key stops working, and says when it was last of use. */
export function RevokeKey({ apiKey, projectId, onClose }: RevokeKeyProps) {
  const { keys } = text;
  return (
    <FormDialog
      isDanger
      title={keys.revokeTitle(apiKey.name)}
      lead={apiKey.lastUsedAt ? keys.revokeUsed(formatAgo(apiKey.lastUsedAt)) : keys.revokeUnused}
      submit={keys.revoke}
      onClose={onClose}
      send={async (_, close) => {
        await call('revokeApiKey', { id: apiKey.id });
        await queryClient.invalidateQueries({ queryKey: ['keys', projectId] });
        close();
        void toast(keys.revoked(apiKey.name));
      }}
    >
      {() => <p className="second">{keys.revokeStays}</p>}
    </FormDialog>
  );
}
