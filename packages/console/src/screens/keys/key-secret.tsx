import type { ApiKey } from '@cadiz/client';
import { formatDay } from '../../format.ts';
import { text } from '../../text/text.ts';
import { FolderPath } from './folder-path.tsx';
import { SecretDialog } from './secret-dialog.tsx';
import { Snippets } from './snippets.tsx';

/** A key with its secret, which is held nowhere else, and its terms. */
export interface NewKey extends Pick<ApiKey, 'name' | 'folderId' | 'scopes' | 'expiresAt'> {
  secret: string;
}

interface KeySecretProps {
  projectId: string;
  created: NewKey;
  onClose: () => void;
}

/** The secret of a new key, with code that uses it, and what it may do until when. */
export function KeySecret({ projectId, created, onClose }: KeySecretProps) {
  const { name, secret, folderId, scopes, expiresAt } = created;
  const { keys } = text;
  const may = scopes.map((scope) => keys.scopeNames[scope]).join(', ');
  return (
    <SecretDialog
      title={keys.ready(name)}
      lead={keys.createdLead}
      leaving={keys.leaving}
      secret={secret}
      onClose={onClose}
    >
      <Snippets projectId={projectId} apiKey={secret} />
      <p className="line wrap cap quiet">
        <FolderPath projectId={projectId} folderId={folderId} />
        <span className="num">{keys.terms(may, expiresAt === null ? undefined : formatDay(expiresAt))}</span>
      </p>
    </SecretDialog>
  );
}
