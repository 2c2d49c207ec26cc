import type { ApiKey } from '@cadiz/client';
import type { Answer } from '@cadiz/contract';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { call } from '../../api.ts';
import { Button } from '../../components/button.tsx';
import { FormDialog } from '../../components/form-dialog.tsx';
import { Badge, Moment } from '../../components/parts.tsx';
import { ProblemNote } from '../../components/problem.tsx';
import { formatBytes } from '../../format.ts';
import { text } from '../../text/text.ts';
import { refreshKeys } from './leak-dialog.tsx';

type Quarantine = Answer<'listQuarantines'>['quarantines'][number];
type End = 'release' | 'trash';

const isWorking = ({ state }: Quarantine) => /ing$/.test(state);
/** Releasing is possible while files are still being hidden; the trash has to wait for that. */
const mayEnd = { release: /^(marking|held)$/, trash: /^held$/ } as const;

const quarantinesQuery = (projectId: string) => ({
  queryKey: ['quarantines', projectId],
  queryFn: async () => (await call('listQuarantines', { projectId })).quarantines,
  refetchInterval: ({ state }: { state: { data?: Quarantine[] | undefined } }) =>
    state.data?.some(isWorking) ? (2000 as const) : (false as const),
});

interface QuarantinesProps {
  projectId: string;
  /** To name whose uploads they hold. */
  keys: readonly ApiKey[];
}

/** What was hidden because a key leaked, and what has become of it. */
export function Quarantines({ projectId, keys }: QuarantinesProps) {
  const { data: quarantines = [], error, refetch } = useQuery(quarantinesQuery(projectId));
  const [asked, setAsked] = useState<{ how: End; quarantine: Quarantine }>();
  const { keys: words } = text;
  const nameOf = ({ apiKeyId }: Quarantine) => keys.find(({ id }) => id === apiKeyId)?.name ?? words.otherKey;
  if (error)
    return <ProblemNote error={error} action={<Button onClick={() => refetch()}>{text.common.retry}</Button>} />;
  if (quarantines.length === 0) return null;
  return (
    <section className="sect">
      <header>
        <div>
          <h2 className="body">{words.quarantines}</h2>
          <p>{words.quarantinesLead}</p>
        </div>
      </header>
      <ul className="panel frame people">
        {quarantines.map((quarantine) => (
          <li key={quarantine.id} className="line wrap">
            <span className="held">
              <b className="med clip">
                <bdi>{nameOf(quarantine)}</bdi>
              </b>
              <span className="cap quiet">
                {words.concerns(quarantine.files, formatBytes(quarantine.bytes))} · {words.since}{' '}
                <Moment at={quarantine.since} />
              </span>
            </span>
            <Badge tone={isWorking(quarantine) ? 'live' : quarantine.state === 'held' ? 'warn' : ''}>
              {words.states[quarantine.state]}
            </Badge>
            {mayEnd.release.test(quarantine.state) && (
              <>
                <Button
                  size="s"
                  aria-label={words.releaseOf(nameOf(quarantine))}
                  onClick={() => setAsked({ how: 'release', quarantine })}
                >
                  {words.release}
                </Button>
                <Button
                  size="s"
                  className="bad"
                  disabled={!mayEnd.trash.test(quarantine.state)}
                  aria-label={words.trashOf(nameOf(quarantine))}
                  onClick={() => setAsked({ how: 'trash', quarantine })}
                >
                  {words.trash}
                </Button>
              </>
            )}
          </li>
        ))}
      </ul>
      {asked && <EndQuarantine {...asked} projectId={projectId} onClose={() => setAsked(undefined)} />}
    </section>
  );
}

interface EndQuarantineProps {
  projectId: string;
  how: End;
  quarantine: Quarantine;
  onClose: () => void;
}

/** Asks before what was hidden comes back, or goes to the trash. */
function EndQuarantine({ projectId, how, quarantine, onClose }: EndQuarantineProps) {
  const { keys } = text;
  const isRelease = how === 'release';
  return (
    <FormDialog
      isDanger={!isRelease}
      title={isRelease ? keys.releaseTitle(quarantine.files) : keys.trashTitle(quarantine.files)}
      lead={isRelease ? keys.releaseLead : keys.trashLead}
      submit={isRelease ? keys.release : keys.trash}
      onClose={onClose}
      send={async (_, close) => {
        const id = quarantine.id ?? '';
        await call(isRelease ? 'releaseQuarantine' : 'trashQuarantine', { projectId, id });
        await refreshKeys(projectId);
        close();
      }}
    />
  );
}
