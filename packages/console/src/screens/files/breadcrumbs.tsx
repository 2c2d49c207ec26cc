import { Link, useNavigate } from '@tanstack/react-router';
import { ArrowLeft, ChevronRight, Ellipsis } from 'lucide-react';
import { Fragment } from 'react';
import { Menu } from '../../components/menu.tsx';
import { text } from '../../text/text.ts';
import { useDropTarget } from './drag.ts';
import { toFolder } from './use-listing.ts';

interface Crumb {
  id: string | null;
  name: string;
}

/** Every other URL begins with that of the root: its link would always count as the present place. */
const exact = { exact: true };

/** Up to how many letters a name stays whole beside longer ones. */
const longestShort = 12;

/** The way to a folder: the first and the last two, and the others in a menu. */
export function Breadcrumbs({ projectId, crumbs }: { projectId: string; crumbs: readonly Crumb[] }) {
  const navigate = useNavigate();
  const hidden = crumbs.length > 4 ? crumbs.slice(1, -2) : [];
  const shown = crumbs.filter((crumb) => !hidden.includes(crumb));
  const last = crumbs.at(-1);
  const parent = crumbs.at(-2);
  return (
    <nav className="where" aria-label={text.files.where}>
      {parent && (
        <Link
          {...toFolder(projectId, parent.id)}
          activeOptions={exact}
          className="btn icon ghost only-phone"
          aria-label={text.shortcuts.up}
        >
          <ArrowLeft className="i" aria-hidden="true" />
        </Link>
      )}
      <ol className="crumbs">
        {shown.map((crumb, index) => (
          <Fragment key={crumb.id ?? 'root'}>
            {index === 1 && hidden.length > 0 && (
              <li>
                <ChevronRight className="i" aria-hidden="true" />
                <Menu
                  align="start"
                  trigger={
                    <button type="button" className="more" aria-label={text.files.moreFolders(hidden.length)}>
                      <Ellipsis className="i" aria-hidden="true" />
                    </button>
                  }
                  actions={hidden.map(({ id, name }) => ({
                    label: name,
                    run: () => void navigate(toFolder(projectId, id)),
                  }))}
                />
              </li>
            )}
            <li className={crumb.name.length > longestShort ? undefined : 'short'}>
              {index > 0 && <ChevronRight className="i" aria-hidden="true" />}
              {crumb === last ? (
                <b className="clip" aria-current="page">
                  <bdi>{crumb.name}</bdi>
                </b>
              ) : (
                <CrumbLink projectId={projectId} crumb={crumb} />
              )}
            </li>
          </Fragment>
        ))}
      </ol>
    </nav>
  );
}

/** It takes whatever is dragged to it: only people who may move entries can drag any. */
function CrumbLink({ projectId, crumb }: { projectId: string; crumb: Crumb }) {
  const { id, name } = crumb;
  const drop = useDropTarget(projectId, crumb);
  return (
    <Link {...toFolder(projectId, id)} activeOptions={exact} className="clip" {...drop}>
      <bdi>{name}</bdi>
    </Link>
  );
}
