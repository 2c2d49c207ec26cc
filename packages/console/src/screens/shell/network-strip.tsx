import { WifiOff } from 'lucide-react';
import { useSyncExternalStore } from 'react';
import { Button } from '../../components/button.tsx';
import { text } from '../../text/text.ts';
import { isUnreachable, look, subscribe } from '../uploads/network.ts';

/** On top of every screen while the service cannot be reached. */
export function NetworkStrip() {
  const isShown = useSyncExternalStore(subscribe, isUnreachable);
  if (!isShown) return null;
  const { noNetwork, noNetworkHint, tryNow } = text.uploads;
  return (
    <div className="strip" role="status">
      <WifiOff className="i" aria-hidden="true" />
      <span className="grow">
        <b className="strong">{noNetwork}</b> {noNetworkHint}
      </span>
      <Button size="s" className="only-wide" onClick={() => look()}>
        {tryNow}
      </Button>
    </div>
  );
}
