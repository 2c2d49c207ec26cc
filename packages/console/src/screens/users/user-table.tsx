import { Ellipsis } from 'lucide-react';
import { IconButton } from '../../components/button.tsx';
import { Menu } from '../../components/menu.tsx';
import type { MenuAction } from '../../components/menu-popup.tsx';
import { Avatar, Badge, Moment } from '../../components/parts.tsx';
import { formatDay } from '../../format.ts';
import { useUser } from '../../queries.ts';
import { later } from '../../text/later.ts';
import { text } from '../../text/text.ts';
import type { Question } from './question.tsx';
import type { Account } from './users-query.ts';

type OnAsk = (question: Question) => void;

/** Accounts, how they are protected, and where they are signed in. On phones, one column says it. */
export function UserTable({ users, onAsk }: { users: readonly Account[]; onAsk: OnAsk }) {
  const words = later.users;
  return (
    <div className="panel frame wide-table users">
      <table className="table two nolast">
        <thead>
          <tr>
            <th>{words.person}</th>
            <th className="only-wide-cell">{words.protection}</th>
            <th className="only-wide-cell">{words.sessions}</th>
            <th className="only-wide-cell">{words.since}</th>
            <th className="acts">
              <span className="sr">{text.common.more}</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {users.map((user) => (
            <UserRow key={user.id} user={user} onAsk={onAsk} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function UserRow({ user, onAsk }: { user: Account; onAsk: OnAsk }) {
  const { id, name, email, disabledAt, sessionCount, latestSessionAt, createdAt } = user;
  const isOneself = useUser().id === id;
  const words = later.users;
  const sessions = (
    <>
      <span className="num">{words.sessionCount(sessionCount)}</span>
      {latestSessionAt !== null && (
        <small className="cap quiet">
          {words.latest} <Moment at={latestSessionAt} />
        </small>
      )}
    </>
  );
  return (
    <tr className={disabledAt === null ? '' : 'is-disabled'}>
      <td className="main">
        <span className="line g3">
          <Avatar name={name} size="l" />
          <span className="who">
            <span className="line g2">
              <bdi className="clip">{name}</bdi>
              <States user={user} isOneself={isOneself} />
            </span>
            <small className="clip">{email}</small>
            <span className="only-phone cap quiet">
              <Protection user={user} />
            </span>
            <span className="only-phone cap quiet">{sessions}</span>
          </span>
        </span>
      </td>
      <td className="only-wide-cell">
        <span className="line g1">
          <Protection user={user} />
        </span>
      </td>
      <td className="only-wide-cell sessions">{sessions}</td>
      <td className="only-wide-cell num">{formatDay(createdAt)}</td>
      <td className="end">
        {/* The owner of the service cannot be disabled, and has another page for their own sessions. */}
        {user.role !== 'owner' && (
          <Menu
            trigger={<IconButton icon={Ellipsis} label={words.actionsFor(name)} />}
            actions={toActions(user, onAsk)}
          />
        )}
      </td>
    </tr>
  );
}

function toActions(user: Account, onAsk: OnAsk): MenuAction[] {
  const words = later.users;
  const ask = (kind: Question['kind']) => () => onAsk({ kind, user });
  return [
    ...(user.sessionCount > 0 ? [{ label: words.endSessions, run: ask('endSessions') }] : []),
    user.disabledAt === null
      ? { label: words.disable, run: ask('disable') }
      : { label: words.enable, run: ask('enable') },
    { label: words.remove, isBad: true, isNewGroup: true, run: ask('remove') },
  ];
}

function States({ user, isOneself }: { user: Account; isOneself: boolean }) {
  const words = later.users;
  return (
    <>
      {isOneself && <Badge>{text.common.you}</Badge>}
      {user.role === 'owner' && <Badge>{words.owner}</Badge>}
      {user.disabledAt !== null && <Badge tone="bad">{words.disabledOn(formatDay(user.disabledAt))}</Badge>}
      {!user.emailVerified && <Badge>{words.notVerified}</Badge>}
    </>
  );
}

function Protection({ user: { twoFactorEnabled, passkeyCount } }: { user: Account }) {
  const words = later.users;
  if (!twoFactorEnabled && passkeyCount === 0) return <span className="quiet">{words.unprotected}</span>;
  return (
    <>
      {twoFactorEnabled && <Badge tone="ok">{words.secondFactor}</Badge>}
      {passkeyCount > 0 && <Badge tone="ok">{words.passkeys(passkeyCount)}</Badge>}
    </>
  );
}
