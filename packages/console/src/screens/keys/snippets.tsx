import { SnippetTabs } from './snippet-tabs.tsx';

interface SnippetsProps {
  projectId: string;
  /** The secret itself, while it is shown. */
  apiKey?: string;
}

/** Code for this project, ready to be pasted. */
export function Snippets({ projectId, apiKey = 'cz_live_…' }: SnippetsProps) {
  const snippets = {
    TypeScript: `import { createClient } from '@cadiz/client';

const cadiz = createClient({
  baseUrl: '${location.origin}',
  projectId: '${projectId}',
  apiKey: process.env.CADIZ_API_KEY,
});
const file = await cadiz.upload(photo, { folder: 'holiday' });`,
    curl: `KEY=${apiKey}
curl -sS "${location.origin}/api/storage/list?projectId=${projectId}" \\
  -H "Authorization: Bearer $KEY"`,
    '.env': `CADIZ_URL=${location.origin}
CADIZ_PROJECT_ID=${projectId}
CADIZ_API_KEY=${apiKey}`,
  };
  return <SnippetTabs snippets={snippets} />;
}
