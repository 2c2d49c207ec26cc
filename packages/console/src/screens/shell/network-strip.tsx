import { CloudAlert, WifiOff } from 'lucide-react';
import { useSyncExternalStore } from 'react';
import { Button } from '../../components/button.tsx';
import { text } from '../../text/text.ts';
import { look, readAway, subscribe } from '../uploads/network.ts';

/** On top of every screen while the service cannot be reached. */
export function NetworkStrip() {
  const away = useSyncExternalStore(subscribe, readAway);
  if (!away) return null;
  const { noNetwork, noAnswer, awayHint, tryNow } = text.uploads;
  const Icon = away === 'network' ? WifiOff : CloudAlert;
  return (
    <div className="strip" role="status">
      <Icon className="i" aria-hidden="true" />
      <span className="grow">
        <b className="strong">{away === 'network' ? noNetwork : noAnswer}</b> {awayHint}
      </span>
      <Button size="s" className="only-wide" onClick={() => look()}>
        {tryNow}
      </Button>
    </div>
  );
}
