import { useState } from 'react';
import { CopyButton } from '../../components/copy-button.tsx';

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
  const names = Object.keys(snippets) as (keyof typeof snippets)[];
  const [chosen, setChosen] = useState<keyof typeof snippets>('TypeScript');
  return (
    <div>
      <div className="line">
        <div className="segs">
          {names.map((name) => (
            <button key={name} type="button" aria-pressed={name === chosen} onClick={() => setChosen(name)}>
              {name}
            </button>
          ))}
        </div>
        <span className="grow" />
        <CopyButton value={snippets[chosen]} />
      </div>
      <div className="code">
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: so that it can be scrolled by keyboard */}
        <pre tabIndex={0}>{snippets[chosen]}</pre>
      </div>
    </div>
  );
}
