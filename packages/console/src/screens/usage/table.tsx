import { ScrollFrame } from '../../components/parts.tsx';
import { formatBytes, formatCount } from '../../format.ts';
import { text } from '../../text/text.ts';
import { type Day, formatUtcDay } from './days.ts';

interface TableProps {
  days: readonly Day[];
  at: number | undefined;
  onAt: (index: number | undefined) => void;
}

/** What the chart shows, in numbers, the latest day first. */
export function DayTable({ days, at, onAt }: TableProps) {
  const { usage } = text;
  const rows = days.map((day, index) => ({ ...day, index })).reverse();
  return (
    <ScrollFrame className="days" label={usage.inNumbers}>
      <table className="table tight nolast">
        <thead>
          <tr>
            <th>{usage.day}</th>
            <th className="end">{usage.files}</th>
            <th className="end">{usage.stored}</th>
            <th className="end">{usage.inTrash}</th>
            <th className="end">{usage.uploads}</th>
            <th className="end">{usage.added}</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(({ day, figures, index }) => (
            <tr
              key={day}
              className={index === at ? 'is-hover' : ''}
              onPointerEnter={() => onAt(index)}
              onPointerLeave={() => onAt(undefined)}
            >
              <td className="num" title={formatUtcDay(day, true)}>
                {formatUtcDay(day)}
              </td>
              {figures ? (
                <>
                  <td className="end num">{formatCount(figures.files)}</td>
                  <td className="end num">{formatBytes(figures.bytes)}</td>
                  <td className="end num">{formatBytes(figures.trashedBytes)}</td>
                  <td className="end num">{formatCount(figures.uploads)}</td>
                  <td className="end num">{formatBytes(figures.addedBytes)}</td>
                </>
              ) : (
                <td className="end quiet" colSpan={5}>
                  {usage.notCounted}
                </td>
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollFrame>
  );
}
