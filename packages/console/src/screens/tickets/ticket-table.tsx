import type { Ticket } from '@cadiz/client';
import { Ban } from 'lucide-react';
import { IconButton } from '../../components/button.tsx';
import { Badge, Meter, Moment, type Tone } from '../../components/parts.tsx';
import { formatBytes, formatCount, formatMoment } from '../../format.ts';
import { text } from '../../text/text.ts';
import { FolderPath } from '../keys/folder-path.tsx';
import { stateOf, type TicketState } from './ticket-state.ts';
import '../keys/tables.css';

const tones: Record<TicketState, Tone> = {
  live: 'live',
  exhausted: 'warn',
  expired: '',
  keyEnded: 'bad',
  revoked: 'bad',
};

interface TicketTableProps {
  projectId: string;
  tickets: readonly Ticket[];
  /** The ids of the project's keys that no longer work. */
  endedKeys: ReadonlySet<string>;
  onRevoke: (ticket: Ticket) => void;
}

export function TicketTable({ tickets, ...rest }: TicketTableProps) {
  const { tickets: words } = text;
  return (
    <div className="panel frame wide-table">
      <table className="table fixed-table ticket-table">
        <thead className="only-wide">
          <tr>
            <th>{words.reaches}</th>
            <th>{words.types}</th>
            <th>{words.files}</th>
            <th>{words.bytes}</th>
            <th>{words.expires}</th>
            <th>{words.state}</th>
            <th>
              <span className="sr">{text.common.more}</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {tickets.map((ticket) => (
            <Row key={ticket.id} ticket={ticket} {...rest} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

interface RowProps extends Omit<TicketTableProps, 'tickets'> {
  ticket: Ticket;
}

function Row({ projectId, ticket, endedKeys, onRevoke }: RowProps) {
  const { folderId, mimeTypes, used, left, maxFiles, maxBytes, createdAt, expiresAt } = ticket;
  const { tickets } = text;
  const state = stateOf(ticket, endedKeys);
  const isOver = state !== 'live' && state !== 'exhausted';
  const types = mimeTypes?.join(', ') ?? tickets.everyType;
  const files = tickets.usedOf(formatCount(used.files), formatCount(maxFiles));
  const bytes = tickets.usedOf(formatBytes(used.bytes), formatBytes(maxBytes));
  return (
    <tr className={isOver ? 'is-off' : ''}>
      <td className="main">
        <FolderPath projectId={projectId} folderId={folderId} />
        <small className="only-wide">{tickets.made(formatMoment(createdAt))}</small>
        <small className="only-phone">
          {files} · {bytes}
        </small>
        <small className="line g1 only-phone">
          <Badge tone={tones[state]}>{tickets.states[state]}</Badge>
        </small>
      </td>
      <td className="only-wide">
        <span className="clip">{types}</span>
      </td>
      <td className="only-wide">
        <Budget
          label={tickets.files}
          used={files}
          left={tickets.left(formatCount(left.files))}
          share={used.files / maxFiles}
        />
      </td>
      <td className="only-wide">
        <Budget
          label={tickets.bytes}
          used={bytes}
          left={tickets.left(formatBytes(left.bytes))}
          share={maxBytes === 0 ? 1 : used.bytes / maxBytes}
        />
      </td>
      <td className="only-wide">
        <Moment at={expiresAt} />
      </td>
      <td className="only-wide">
        <Badge tone={tones[state]}>{tickets.states[state]}</Badge>
      </td>
      <td className="end">
        {!isOver && (
          <IconButton
            icon={Ban}
            className="bad"
            label={tickets.revokeOf(formatMoment(createdAt))}
            onClick={() => onRevoke(ticket)}
          />
        )}
      </td>
    </tr>
  );
}

interface BudgetProps {
  label: string;
  used: string;
  left: string;
  share: number;
}

const Budget = ({ label, used, left, share }: BudgetProps) => (
  <span className="stack g1 num">
    <span>
      {used} <span className="quiet">· {left}</span>
    </span>
    <Meter isLimit share={share} label={label} valueText={used} />
  </span>
);
