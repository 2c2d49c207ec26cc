import { useQuery } from '@tanstack/react-query';
import { ProblemNote } from '../../components/problem.tsx';
import { formatBytes } from '../../format.ts';
import { text } from '../../text/text.ts';
import { findSeparator, readTable } from './csv.ts';
import { indentJson } from './json.ts';
import { readStart, type Start } from './read-start.ts';

/** In bytes. */
const largestText = 256_000;
const mostRows = 200;

interface TextStageProps {
  url: string;
  name: string;
  type: string;
  /** In bytes. */
  size: number;
}

/** The beginning of a file of text: as a table, as indented JSON, or as it is. */
export function TextStage({ url, name, type, size }: TextStageProps) {
  const { data: start, error } = useQuery({
    queryKey: ['text', url],
    queryFn: ({ signal }) => readStart(url, size, largestText, signal),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 60_000,
  });
  if (error) return <ProblemNote error={error} />;
  if (!start) return null;
  const isTabs = /tab-separated/.test(type) || /\.tsv$/i.test(name);
  const isTable = isTabs || /^text\/csv/.test(type) || /\.csv$/i.test(name);
  const isJson = !start.isCut && (/json/.test(type) || /\.json$/i.test(name));
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, also by keyboard
    <section className="text-stage" tabIndex={0} aria-label={name}>
      {isTable ? (
        <Table start={start} isTabs={isTabs} />
      ) : (
        <pre>{isJson ? indentJson(start.content) : start.content}</pre>
      )}
      {start.isCut && <p className="cap quiet">{text.preview.cut(formatBytes(largestText))}</p>}
    </section>
  );
}

function Table({ start: { content, isCut }, isTabs }: { start: Start; isTabs: boolean }) {
  const [head = [], ...rows] = readTable(content, findSeparator(content, isTabs), mostRows + 2);
  // The last row of what is cut may lack its end.
  const shown = (isCut ? rows.slice(0, -1) : rows).slice(0, mostRows);
  return (
    <>
      <table className="table">
        <thead>
          <tr>
            {head.map((name, column) => (
              <th key={column} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {shown.map((cells, row) => (
            <tr key={row}>
              {cells.map((cell, column) => (
                <td key={column}>{cell}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length > mostRows && <p className="cap quiet">{text.preview.cutRows(mostRows)}</p>}
    </>
  );
}
