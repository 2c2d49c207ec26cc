import { text } from '../../text/text.ts';
import { SnippetTabs } from './snippet-tabs.tsx';

interface SnippetsProps {
  projectId: string;
  /** The secret itself, while it is shown. */
  apiKey?: string;
}

/** Code for this project, ready to be pasted: a key that is shown comes first, as what has to be kept. */
export function Snippets({ projectId, apiKey }: SnippetsProps) {
  const key = apiKey ?? 'cz_live_…';
  const env = {
    '.env': `CADIZ_URL=${location.origin}
CADIZ_PROJECT_ID=${projectId}
CADIZ_API_KEY=${key}`,
  };
  const snippets = {
    TypeScript: `import { createClient } from '@cadiz/client';

const cadiz = createClient({
  baseUrl: '${location.origin}',
  projectId: '${projectId}',
  apiKey: process.env.CADIZ_API_KEY,
});
const file = await cadiz.upload(photo, { folder: 'holiday' });`,
    curl: `KEY=${key}
curl -sS "${location.origin}/api/storage/list?projectId=${projectId}" \\
  -H "Authorization: Bearer $KEY"`,
    React: `import { createClient } from '@cadiz/client';
import { useUploads } from '@cadiz/client/react';

// ${text.keys.ticketRoute}
const ticket = async () => (await fetch('/upload-ticket', { method: 'POST' })).json();
const cadiz = createClient({ baseUrl: '${location.origin}', ticket });

export function Upload() {
  const { uploads, add } = useUploads(cadiz);
  return (
    <label>
      <input type="file" multiple onChange={({ target }) => add(target.files ?? [])} />
      {uploads.map(({ id, name, state }) => <p key={id}>{name}: {state}</p>)}
    </label>
  );
}`,
  };
  return <SnippetTabs snippets={apiKey === undefined ? { ...snippets, ...env } : { ...env, ...snippets }} />;
}
