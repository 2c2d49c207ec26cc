import { Check } from 'lucide-react';
import { useEffect, useState } from 'react';
import { Badge } from '../../components/parts.tsx';
import { text } from '../../text/text.ts';
import { arrivedAgo } from '../uploads/arrivals.ts';

/** For how long a file is said to be new, in milliseconds. */
const newMilliseconds = 4000;

/** Says for a moment that a file has just been uploaded in this window. */
export function JustAdded({ id }: { id: string }) {
  const [left, setLeft] = useState(() => newMilliseconds - arrivedAgo(id));
  useEffect(() => {
    if (left <= 0) return undefined;
    const timer = setTimeout(() => setLeft(0), left);
    return () => clearTimeout(timer);
  }, [left]);
  if (left <= 0) return null;
  return (
    <Badge tone="live" icon={Check}>
      {text.files.justAdded}
    </Badge>
  );
}
