import { lazy, Suspense } from 'react';
import { Skeleton } from '../../components/parts.tsx';

const SnippetTabs = lazy(async () => ({ default: (await import('./snippet-tabs.tsx')).SnippetTabs }));

/** Pieces of code by name, to be copied. */
export const CodeTabs = ({ snippets }: { snippets: Record<string, string> }) => (
  <Suspense fallback={<Skeleton rows={4} />}>
    <SnippetTabs snippets={snippets} />
  </Suspense>
);

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
  return <CodeTabs snippets={snippets} />;
}
