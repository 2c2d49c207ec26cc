import { CloudAlert, WifiOff } from 'lucide-react';
import { useSyncExternalStore } from 'react';
import { Button } from '../../components/button.tsx';
import { formatTime } from '../../format.ts';
import { text } from '../../text/text.ts';
import { waitingUntil } from '../../waiting.ts';
import * as network from '../uploads/network.ts';

/** On top of every screen while the service cannot be reached, or asks to wait. */
export function NetworkStrip() {
  const away = useSyncExternalStore(network.away.subscribe, network.away.read);
  const until = useSyncExternalStore(waitingUntil.subscribe, waitingUntil.read);
  if (!away && until === undefined) return null;
  const { noNetwork, noAnswer, awayHint, tryNow } = text.uploads;
  const Icon = away === 'network' ? WifiOff : CloudAlert;
  return (
    <div className="strip" role="status">
      <Icon className="i" aria-hidden="true" />
      <span className="grow">
        {away ? (
          <>
            <b className="strong">{away === 'network' ? noNetwork : noAnswer}</b> {awayHint}
          </>
        ) : (
          until !== undefined && text.errors.waits(formatTime(until))
        )}
      </span>
      {away && (
        <Button size="s" className="only-wide" onClick={() => network.look()}>
          {tryNow}
        </Button>
      )}
    </div>
  );
}
