import { RefreshCw } from 'lucide-react';
import { useEffect, useSyncExternalStore } from 'react';
import { Button } from '../../components/button.tsx';
import { text } from '../../text/text.ts';
import { isUpdated, watchForUpdates } from '../../updates.ts';

/** On top of every screen once the service has another version of the console. What is open goes on working, so somebody can finish first. */
export function UpdateStrip() {
  useEffect(watchForUpdates, []);
  const isShown = useSyncExternalStore(isUpdated.subscribe, isUpdated.read);
  if (!isShown) return null;
  return (
    <div className="strip" role="status">
      <RefreshCw className="i" aria-hidden="true" />
      <span className="grow">{text.shell.updated}</span>
      <Button size="s" onClick={() => location.reload()}>
        {text.shell.reload}
      </Button>
    </div>
  );
}
