import { StillWorking } from '../../components/parts.tsx';
import { heads } from './file-list.tsx';
import type { FilesSearch } from './search.ts';

/** How wide the bars of names are, in rem. */
const names = [9, 6, 8, 10.5, 13, 16, 7, 10, 8.5, 12, 11.5, 13.5, 14.5, 7.5, 11];

/** @param width in rem */
export const Bar = ({ width = 4 }: { width?: number }) => <div className="skel" style={{ width: `${width}rem` }} />;

/** Bars in the place of a listing that is being loaded, where its rows or tiles will be. */
export function ListSkeleton({ search: { view, scope } }: { search: FilesSearch }) {
  const hasPath = scope === 'project';
  return (
    <div className={`scroll list waiting ${hasPath ? 'search' : ''}`}>
      <div aria-hidden="true">
        {view === 'grid' ? (
          <div className="tiles">
            {names.map((width) => (
              <div key={width} className="tile">
                <div className="pic" />
                <Bar width={width / 2} />
              </div>
            ))}
          </div>
        ) : (
          <>
            <div className="thead">
              <span className="cell-check" />
              {heads
                .filter(({ isPath }) => hasPath || !isPath)
                .map(({ label, className }) => (
                  <span key={label} className={className}>
                    {label}
                  </span>
                ))}
            </div>
            <div className="rows" style={{ height: `calc(${names.length} * var(--row))` }}>
              {names.map((width, row) => (
                <div key={width} className="row" style={{ top: `calc(${row} * var(--row))` }}>
                  <div className="cell-check" />
                  <div className="cell-name">
                    <div className="thumb" />
                    <Bar width={width} />
                  </div>
                  {hasPath && (
                    <div className="cell-type">
                      <Bar />
                    </div>
                  )}
                  <div className="cell-end">
                    <Bar width={3} />
                  </div>
                  <div className="cell-type">
                    <Bar width={4 + (width % 3)} />
                  </div>
                  <div className="cell-num">
                    <Bar width={5.5} />
                  </div>
                </div>
              ))}
            </div>
          </>
        )}
      </div>
      <StillWorking />
    </div>
  );
}
