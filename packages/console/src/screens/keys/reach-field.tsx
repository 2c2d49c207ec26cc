import { ChevronRight, Folder } from 'lucide-react';
import { useEffect, useId, useRef } from 'react';
import { Button } from '../../components/button.tsx';
import { Skeleton } from '../../components/parts.tsx';
import { ProblemNote } from '../../components/problem.tsx';
import { text } from '../../text/text.ts';
import '../../styles/screens/picker.css';
import { useFolders } from '../files/use-folders.ts';

/** Where something reaches: null is the whole project, undefined a folder that has yet to be chosen. */
export type Reach = string | null | undefined;

interface ReachFieldProps {
  projectId: string;
  label: string;
  value: Reach;
  onChange: (value: Reach) => void;
}

/** The whole project or one folder, which is found by walking there. */
export function ReachField({ projectId, label, value, onChange }: ReachFieldProps) {
  const name = useId();
  const { keys } = text;
  const choices = [
    { isOn: value === null, to: null, title: keys.wholeProject, hint: keys.wholeProjectHint },
    { isOn: value !== null, to: undefined, title: keys.oneFolder, hint: keys.oneFolderHint },
  ];
  return (
    <fieldset className="stack g2">
      <legend className="label">{label}</legend>
      <div className="cols2">
        {choices.map(({ isOn, to, title, hint }) => (
          <label key={title} className={`card ${isOn ? 'is-on' : ''}`}>
            <input type="radio" name={name} checked={isOn} onChange={() => onChange(to)} />
            <span>
              <b className="med">{title}</b>
              <small className="cap quiet">{hint}</small>
            </span>
          </label>
        ))}
      </div>
      {value !== null && <FolderPicker projectId={projectId} at={value} onGo={onChange} />}
    </fieldset>
  );
}

interface FolderPickerProps {
  projectId: string;
  /** The folder one is in; undefined in the root. */
  at: string | undefined;
  onGo: (folder: string | undefined) => void;
}

function FolderPicker({ projectId, at, onGo }: FolderPickerProps) {
  const { data, error, isPending, hasNextPage, fetchNextPage, isFetchingNextPage } = useFolders(projectId, at ?? null);
  const picker = useRef<HTMLUListElement>(null);
  const hasWalked = useRef(false);
  const { keys, files } = text;
  // The folder that was pressed is no longer there once one is in it.
  useEffect(() => {
    if (hasWalked.current && !isPending) (picker.current?.querySelector('button') ?? picker.current)?.focus();
  }, [at, isPending]);
  function go(folder: string | undefined) {
    hasWalked.current = true;
    onGo(folder);
  }
  const crumbs = data?.pages[0]?.breadcrumbs ?? [];
  const folders = data?.pages.flatMap((page) => page.folders) ?? [];
  const path = crumbs.slice(1).map(({ name }) => name);
  return (
    <div className="panel walk">
      <nav aria-label={files.where}>
        <ol className="crumbs wrap">
          {crumbs.map(({ id, name }, index) => (
            <li key={id ?? 'root'}>
              {index > 0 && <ChevronRight className="i" aria-hidden="true" />}
              {index === crumbs.length - 1 ? (
                <b aria-current="location">
                  <bdi>{name}</bdi>
                </b>
              ) : (
                <button type="button" onClick={() => go(id ?? undefined)}>
                  <bdi>{name}</bdi>
                </button>
              )}
            </li>
          ))}
        </ol>
      </nav>
      <ProblemNote error={error} />
      {isPending && <Skeleton rows={3} />}
      <ul className="picker" ref={picker} tabIndex={-1}>
        {folders.map(({ id, name }) => (
          <li key={id}>
            <button type="button" onClick={() => go(id)}>
              <Folder className="i" aria-hidden="true" />
              <bdi className="grow clip">{name}</bdi>
              <ChevronRight className="i s" aria-hidden="true" />
            </button>
          </li>
        ))}
        {data && folders.length === 0 && <li className="quiet">{files.noFolders}</li>}
        {hasNextPage && (
          <li>
            <Button size="s" busy={isFetchingNextPage} onClick={() => fetchNextPage()}>
              {files.moreRows}
            </Button>
          </li>
        )}
      </ul>
      <p className="cap quiet" role="status">
        {path.length > 0 ? keys.chosenFolder(path.join(' / ')) : keys.openFolder}
      </p>
    </div>
  );
}
