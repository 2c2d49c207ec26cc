import type { ApiKey } from '@cadiz/client';
import { ClockAlert } from 'lucide-react';
import { now } from '../../clock.ts';
import { Badge, Moment } from '../../components/parts.tsx';
import { formatDay } from '../../format.ts';
import { text } from '../../text/text.ts';

const soonMilliseconds = 7 * 86_400_000;

/** Whether a key no longer works. */
export const isEnded = ({ revokedAt, expiresAt }: ApiKey) =>
  revokedAt !== null || (expiresAt !== null && Date.parse(expiresAt) < now());

/** When a key stops working, or why it has. */
export function Expiry({ apiKey: { expiresAt, revokedAt } }: { apiKey: ApiKey }) {
  const { keys } = text;
  if (revokedAt !== null) return <Badge tone="bad">{keys.revokedOn(formatDay(revokedAt))}</Badge>;
  if (expiresAt === null) return <span className="quiet">{text.common.never}</span>;
  const left = Date.parse(expiresAt) - now();
  if (left < 0) return <Badge>{keys.expiredOn(formatDay(expiresAt))}</Badge>;
  if (left < soonMilliseconds)
    return (
      <Badge tone="warn" icon={ClockAlert}>
        <Moment at={expiresAt} />
      </Badge>
    );
  return <span className="num">{formatDay(expiresAt)}</span>;
}
