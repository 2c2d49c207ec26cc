import { text } from '../../text/text.ts';
import { SecretDialog } from './secret-dialog.tsx';
import { Snippets } from './snippets.tsx';

interface KeySecretProps {
  projectId: string;
  secret: string;
  onClose: () => void;
}

/** The secret of a new key, with code that uses it. */
export function KeySecret({ projectId, secret, onClose }: KeySecretProps) {
  const { keys } = text;
  return (
    <SecretDialog title={keys.created} lead={keys.createdLead} leaving={keys.leaving} secret={secret} onClose={onClose}>
      <Snippets projectId={projectId} apiKey={secret} />
    </SecretDialog>
  );
}
