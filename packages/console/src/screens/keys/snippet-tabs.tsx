import { Tabs } from '@base-ui/react/tabs';
import { useState } from 'react';
import { CopyButton } from '../../components/copy-button.tsx';
import { text } from '../../text/text.ts';

/** Pieces of code by name, one at a time: arrows, Home and End choose. It is loaded when code is shown. */
export function SnippetTabs({ snippets }: { snippets: Record<string, string> }) {
  const names = Object.keys(snippets);
  const [chosen, setChosen] = useState(names[0] ?? '');
  const { keys } = text;
  return (
    <Tabs.Root value={chosen} onValueChange={(name) => setChosen(String(name))}>
      <div className="line">
        <Tabs.List className="tabs grow" activateOnFocus aria-label={keys.snippets}>
          {names.map((name) => (
            <Tabs.Tab key={name} value={name}>
              {name}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        <CopyButton value={snippets[chosen] ?? ''} label={keys.copySnippet(chosen)} />
      </div>
      <div className="code">
        {names.map((name) => (
          <Tabs.Panel key={name} value={name} render={<pre />}>
            {snippets[name]}
          </Tabs.Panel>
        ))}
      </div>
    </Tabs.Root>
  );
}
