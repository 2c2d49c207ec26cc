import { Button } from '../../components/button.tsx';
import { CopyButton } from '../../components/copy-button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { formatExactly } from '../../format.ts';
import { later } from '../../text/later.ts';
import { text } from '../../text/text.ts';
import type { Event } from './events.ts';
import { inWords } from './in-words.ts';
import type { Names } from './names.ts';

/** Everything that an event says, with its ids to copy. */
export function EventDialog({ event, names, onClose }: { event: Event; names: Names; onClose: () => void }) {
  const { audit } = later;
  const { what, thing, facts } = inWords(event, names);
  const { id, type, at, ip, userId, apiKeyId, requestId, subject } = event;
  return (
    <Dialog
      open
      width="w"
      onClose={onClose}
      title={what}
      lead={<bdi>{[...(thing === undefined ? [] : [thing]), ...facts].join(' · ')}</bdi>}
      footer={<Button onClick={onClose}>{text.common.close}</Button>}
    >
      <dl className="kv event">
        <dt>{audit.when}</dt>
        <dd>{formatExactly(at)}</dd>
        <dt>{audit.who}</dt>
        <dd>
          <bdi>{names.ofActor(event)}</bdi>
        </dd>
        {userId !== null && <Id label={audit.account} value={userId} />}
        {apiKeyId !== null && <Id label={audit.key} value={apiKeyId} />}
        <dt>{audit.from}</dt>
        <dd className="mono">{ip ?? text.common.unknown}</dd>
        <dt>{audit.event}</dt>
        <dd className="mono">{type}</dd>
        <Id label={audit.eventId} value={id} />
        {requestId !== undefined && <Id label={text.errors.requestId} value={requestId} />}
      </dl>
      {Object.keys(subject).length > 0 && (
        <section className="stack g2">
          <h3 className="label">{audit.subject}</h3>
          <dl className="kv event">
            {Object.entries(subject).map(([field, value]) => (
              <Id key={field} label={field} value={typeof value === 'string' ? value : JSON.stringify(value)} />
            ))}
          </dl>
        </section>
      )}
    </Dialog>
  );
}

const Id = ({ label, value }: { label: string; value: string }) => (
  <>
    <dt>{label}</dt>
    <dd>
      <bdi className="mono">{value}</bdi>
      <CopyButton value={value} label={`${text.common.copy}: ${label}`} />
    </dd>
  </>
);
