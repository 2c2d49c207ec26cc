import type { ApiKey } from '@cadiz/client';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { Ban, ClockAlert, KeyRound, Plus } from 'lucide-react';
import { useState } from 'react';
import { call, clientOf } from '../../api.ts';
import { Button } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { Badge, Empty, Moment, Skeleton } from '../../components/parts.tsx';
import { ProblemNote } from '../../components/problem.tsx';
import { formatAgo, formatDay } from '../../format.ts';
import { membersQuery, queryClient, useRole } from '../../queries.ts';
import { text } from '../../text/text.ts';
import { Page } from '../page.tsx';
import { CreateKey } from './create-key.tsx';
import { SecretDialog } from './secret-dialog.tsx';

const soonMilliseconds = 7 * 86_400_000;

const isEnded = ({ revokedAt, expiresAt }: ApiKey) =>
  revokedAt !== null || (expiresAt !== null && Date.parse(expiresAt) < Date.now());

/** The keys of a project. */
export function Keys() {
  const { projectId = '' } = useParams({ strict: false });
  const mayChange = useRole(projectId) !== 'viewer';
  const { isSuccess: isKnown } = useQuery(membersQuery(projectId));
  const query = useQuery({
    queryKey: ['keys', projectId],
    queryFn: () => clientOf(projectId).keys.list(),
    enabled: mayChange,
  });
  const [isCreating, setCreating] = useState(false);
  const [secret, setSecret] = useState<string>();
  const [revoked, setRevoked] = useState<ApiKey>();
  const { keys } = text;
  const create = mayChange && (
    <Button look="main" icon={Plus} onClick={() => setCreating(true)}>
      {keys.create}
    </Button>
  );
  const active = query.data?.filter((key) => !isEnded(key)) ?? [];
  const ended = query.data?.filter(isEnded) ?? [];
  return (
    <Page title={text.nav.keys} lead={keys.lead} actions={create}>
      <ProblemNote error={query.error} action={<Button onClick={() => query.refetch()}>{text.common.retry}</Button>} />
      {!mayChange && isKnown && <Empty icon={KeyRound} title={keys.forEditors} hint={keys.forEditorsHint} />}
      {mayChange && query.isPending && <Skeleton />}
      {query.isSuccess && active.length === 0 && <Empty icon={KeyRound} title={keys.none} hint={keys.noneHint} />}
      {active.length > 0 && <Table keys={active} onRevoke={mayChange ? setRevoked : undefined} />}
      {ended.length > 0 && (
        <details>
          <summary>{keys.ended(ended.length)}</summary>
          <Table keys={ended} onRevoke={undefined} />
        </details>
      )}
      <CreateKey open={isCreating} projectId={projectId} onClose={() => setCreating(false)} onCreated={setSecret} />
      {secret !== undefined && (
        <SecretDialog projectId={projectId} secret={secret} onClose={() => setSecret(undefined)} />
      )}
      <Revoke apiKey={revoked} projectId={projectId} onClose={() => setRevoked(undefined)} />
    </Page>
  );
}

function Table({ keys, onRevoke }: { keys: readonly ApiKey[]; onRevoke: ((key: ApiKey) => void) | undefined }) {
  const { keys: words } = text;
  return (
    <div className="panel frame wide-table">
      <table className="table">
        <thead>
          <tr>
            <th>{words.name}</th>
            <th>{words.key}</th>
            <th>{words.reaches}</th>
            <th>{words.may}</th>
            <th>{words.lastUsed}</th>
            <th>{words.expires}</th>
            <th>
              <span className="sr">{text.common.more}</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {keys.map((key) => (
            <tr key={key.id} className={isEnded(key) ? 'is-off' : ''}>
              <td className="main">
                <bdi>{key.name}</bdi>
              </td>
              <td className="mono nowrap">cz_live_…{key.last4}</td>
              <td>{key.folderId === null ? words.wholeProject : words.oneFolder}</td>
              <td>
                <span className="line g1">
                  {key.scopes.map((scope) => (
                    <Badge key={scope}>{words.scopeNames[scope]}</Badge>
                  ))}
                </span>
              </td>
              <td>
                <Moment at={key.lastUsedAt} none={words.neverUsed} />
              </td>
              <td>
                <Expiry apiKey={key} />
              </td>
              <td className="end">
                {onRevoke && (
                  <Button
                    size="s"
                    look="ghost"
                    icon={Ban}
                    className="bad"
                    aria-label={words.revokeTitle(key.name)}
                    onClick={() => onRevoke(key)}
                  >
                    {words.revoke}
                  </Button>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Expiry({ apiKey: { expiresAt, revokedAt } }: { apiKey: ApiKey }) {
  const { keys } = text;
  if (revokedAt !== null) return <Badge tone="bad">{keys.revokedOn(formatDay(revokedAt))}</Badge>;
  if (expiresAt === null) return <span className="quiet">{text.common.never}</span>;
  const left = Date.parse(expiresAt) - Date.now();
  if (left < 0) return <Badge>{keys.expiredOn(formatDay(expiresAt))}</Badge>;
  if (left < soonMilliseconds)
    return (
      <Badge tone="warn" icon={ClockAlert}>
        {formatDay(expiresAt)}
      </Badge>
    );
  return <span className="num">{formatDay(expiresAt)}</span>;
}

interface RevokeProps {
  apiKey: ApiKey | undefined;
  projectId: string;
  onClose: () => void;
}

/** Asks before a key stops working, and says when it was last of use. */
function Revoke({ apiKey, projectId, onClose }: RevokeProps) {
  const { keys } = text;
  const revoke = useMutation({
    mutationFn: (id: string) => call('revokeApiKey', { id }),
    onSuccess: onClose,
    onSettled: () => queryClient.invalidateQueries({ queryKey: ['keys', projectId] }),
  });
  return (
    <Dialog
      open={apiKey !== undefined}
      onClose={onClose}
      title={keys.revokeTitle(apiKey?.name ?? '')}
      lead={apiKey?.lastUsedAt ? keys.revokeUsed(formatAgo(apiKey.lastUsedAt)) : keys.revokeUnused}
      footer={
        <>
          <Button onClick={onClose}>{text.common.cancel}</Button>
          <Button look="danger" busy={revoke.isPending} onClick={() => apiKey && revoke.mutate(apiKey.id)}>
            {keys.revoke}
          </Button>
        </>
      }
    >
      <ProblemNote error={revoke.error} />
    </Dialog>
  );
}
