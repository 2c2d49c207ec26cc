import { KeyRound } from 'lucide-react';
import { Fragment } from 'react';
import { Avatar } from '../../components/parts.tsx';
import { formatExactly } from '../../format.ts';
import { later } from '../../text/later.ts';
import { locale } from '../../text/text.ts';
import type { Event } from './events.ts';
import { inWords } from './in-words.ts';
import type { Names } from './names.ts';

const dayOf = new Intl.DateTimeFormat(locale, { dateStyle: 'full' });
const timeOf = new Intl.DateTimeFormat(locale, {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hourCycle: 'h23',
});

interface EventTableProps {
  events: readonly Event[];
  names: Names;
  onOpen: (event: Event) => void;
}

/** Events in their days, the latest first. */
export function EventTable({ events, names, onOpen }: EventTableProps) {
  const { audit } = later;
  return (
    <div className="wide-table audit">
      <table className="table">
        <thead>
          <tr>
            <th>{audit.when}</th>
            <th className="more-of-it">{audit.who}</th>
            <th>{audit.what}</th>
            <th className="more-of-it">{audit.event}</th>
            <th className="more-of-it">{audit.from}</th>
          </tr>
        </thead>
        <tbody>
          {events.map((event, index) => {
            const day = dayOf.format(new Date(event.at));
            const before = events[index - 1];
            const isFirst = !before || dayOf.format(new Date(before.at)) !== day;
            return (
              <Fragment key={event.id}>
                {isFirst && (
                  <tr>
                    <th colSpan={5} className="day" scope="rowgroup">
                      {day}
                    </th>
                  </tr>
                )}
                <EventRow event={event} names={names} onOpen={onOpen} />
              </Fragment>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

function EventRow({ event, names, onOpen }: { event: Event; names: Names; onOpen: (event: Event) => void }) {
  const who = names.ofActor(event);
  return (
    <tr>
      <td className="num">
        <time dateTime={event.at} title={formatExactly(event.at)}>
          {timeOf.format(new Date(event.at))}
        </time>
      </td>
      <td className="main more-of-it">
        <span className="line g3 person">
          {event.apiKeyId === null ? (
            <Avatar name={who} />
          ) : (
            <span className="avatar" aria-hidden="true">
              <KeyRound className="i s" />
            </span>
          )}
          <bdi className="clip">{who}</bdi>
        </span>
      </td>
      <td className="what">
        <button type="button" className="open-event" onClick={() => onOpen(event)}>
          <Words event={event} names={names} />
        </button>
        <span className="cap quiet only-phone">
          <bdi>{who}</bdi>
        </span>
      </td>
      <td className="mono quiet more-of-it">{event.type}</td>
      <td className="mono quiet more-of-it">{event.ip}</td>
    </tr>
  );
}

/** An event in words, its thing in bold. */
function Words({ event, names }: { event: Event; names: Names }) {
  const { what, thing, facts } = inWords(event, names);
  return (
    <>
      {what}
      {thing !== undefined && (
        <>
          {': '}
          <bdi className="med">{thing}</bdi>
        </>
      )}
      {facts.length > 0 && <span className="quiet num"> · {facts.join(' · ')}</span>}
    </>
  );
}
