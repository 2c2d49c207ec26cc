import type { ApiKey } from '@cadiz/client';
import { useQuery } from '@tanstack/react-query';
import { Ban, Ellipsis, FileUp, OctagonPause, RefreshCw } from 'lucide-react';
import { useState } from 'react';
import { Button, IconButton } from '../../components/button.tsx';
import { Menu } from '../../components/menu.tsx';
import type { MenuAction } from '../../components/menu-popup.tsx';
import { Badge, Moment } from '../../components/parts.tsx';
import { formatAgo, formatDay } from '../../format.ts';
import { membersQuery, useUser } from '../../queries.ts';
import { text } from '../../text/text.ts';
import { Expiry, isEnded } from './expiry.tsx';
import { FolderPath } from './folder-path.tsx';
import './tables.css';

/** What can be asked about a key. */
export type About = 'rotate' | 'revoke' | 'uploads' | 'leak';

interface KeyTableProps {
  projectId: string;
  keys: readonly ApiKey[];
  /** Whether keys may be managed, or merely one's own be revoked. */
  mayManage: boolean;
  onAsk: (about: About, key: ApiKey) => void;
}

/** How many more keys are shown at once. */
const pageLength = 50;

export function KeyTable({ projectId, keys, mayManage, onAsk }: KeyTableProps) {
  const [shown, setShown] = useState(pageLength);
  const { keys: words } = text;
  return (
    <>
      <div className="panel frame wide-table">
        <table className="table fixed-table key-table">
          <thead className="only-wide">
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
            {keys.slice(0, shown).map((key) => (
              <tr key={key.id} className={isEnded(key) ? 'is-off' : ''}>
                <td className="main">
                  <span className="clip">
                    <bdi>{key.name}</bdi>
                  </span>
                  <small className="clip only-wide">
                    <MadeBy projectId={projectId} apiKey={key} />
                  </small>
                  <small className="only-phone">
                    …{key.last4} · {key.lastUsedAt ? words.used(formatAgo(key.lastUsedAt)) : words.neverUsed}
                  </small>
                  {(key.expiresAt !== null || isEnded(key)) && (
                    <small className="line g1 only-phone">
                      {!isEnded(key) && words.expires}
                      <Expiry apiKey={key} />
                    </small>
                  )}
                </td>
                <td className="mono nowrap only-wide">cz_live_…{key.last4}</td>
                <td className="only-wide">
                  <FolderPath projectId={projectId} folderId={key.folderId} />
                </td>
                <td className="only-wide">
                  <span className="line g1">
                    {key.scopes.map((scope) => (
                      <Badge key={scope}>{words.scopeNames[scope]}</Badge>
                    ))}
                  </span>
                </td>
                <td className="only-wide">
                  <Moment at={key.lastUsedAt} none={words.neverUsed} />
                </td>
                <td className="only-wide">
                  <Expiry apiKey={key} />
                </td>
                <td className="end">
                  <Actions apiKey={key} mayManage={mayManage} onAsk={onAsk} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {keys.length > shown && <Button onClick={() => setShown(shown + pageLength)}>{words.moreRows}</Button>}
    </>
  );
}

interface ActionsProps {
  apiKey: ApiKey;
  mayManage: boolean;
  onAsk: (about: About, key: ApiKey) => void;
}

function Actions({ apiKey, mayManage, onAsk }: ActionsProps) {
  const { keys } = text;
  const isAlive = !isEnded(apiKey);
  const ask = (about: About) => () => onAsk(about, apiKey);
  const actions: MenuAction[] = [
    ...(mayManage && isAlive ? [{ label: keys.rotate, icon: RefreshCw, run: ask('rotate') }] : []),
    ...(mayManage ? [{ label: keys.uploads, icon: FileUp, run: ask('uploads') }] : []),
    ...(mayManage ? [{ label: keys.leak, icon: OctagonPause, run: ask('leak') }] : []),
    ...(isAlive ? [{ label: keys.revoke, icon: Ban, isBad: true, isNewGroup: mayManage, run: ask('revoke') }] : []),
  ];
  if (actions.length === 0) return null;
  return (
    <span className="line g1 acts">
      {mayManage && isAlive && (
        <IconButton
          icon={RefreshCw}
          className="only-wide"
          label={keys.rotateTitle(apiKey.name)}
          onClick={ask('rotate')}
        />
      )}
      {isAlive && (
        <IconButton icon={Ban} className="only-wide" label={keys.revokeTitle(apiKey.name)} onClick={ask('revoke')} />
      )}
      <Menu trigger={<IconButton icon={Ellipsis} label={keys.actionsOf(apiKey.name)} />} actions={actions} />
    </span>
  );
}

/** Who made a key, as far as that is known, and when. */
function MadeBy({ projectId, apiKey: { createdBy, createdAt } }: { projectId: string; apiKey: ApiKey }) {
  const user = useUser();
  const { data: members } = useQuery(membersQuery(projectId));
  const { keys } = text;
  const day = formatDay(createdAt);
  if (createdBy.userId === user.id) return keys.madeByYou(day);
  const name = members?.find(({ userId }) => userId === createdBy.userId)?.name;
  return name === undefined ? keys.made(day) : keys.madeBy(name, day);
}
