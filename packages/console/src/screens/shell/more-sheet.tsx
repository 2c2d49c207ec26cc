import { Dialog as Base } from '@base-ui/react/dialog';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { ChevronsUpDown, Search } from 'lucide-react';
import { toDragDown } from '../../components/drag-down.ts';
import { Avatar } from '../../components/parts.tsx';
import { projectsQuery, type Role, useUser } from '../../queries.ts';
import { text } from '../../text/text.ts';
import '../../styles/screens/more-sheet.css';
import { closeOverlay, openOverlay } from './overlays.ts';
import { hasTab, projectPages, useServicePages } from './pages.ts';
import { useAccountActions } from './use-account-actions.ts';

/** What a phone's tabs have no room for. */
export function MoreSheet({ projectId, role }: { projectId: string; role: Role | undefined }) {
  const user = useUser();
  const { data: projects } = useQuery(projectsQuery);
  const actions = useAccountActions();
  const service = useServicePages();
  const project = projects?.find(({ id }) => id === projectId);
  const { nav, palette, members } = text;
  const pages = projectPages.filter(({ to }) => !hasTab(to));
  return (
    <Base.Root open onOpenChange={closeOverlay}>
      <Base.Portal>
        <Base.Backdrop className="backdrop" />
        <Base.Viewport className="scrim plain">
          <Base.Popup className="bsheet" {...toDragDown(closeOverlay)}>
            <div className="top grip">
              <Avatar name={user.name} size="l" />
              <div className="grow">
                <Base.Title className="strong clip">{project?.name ?? nav.more}</Base.Title>
                <div className="cap quiet clip">
                  {user.name}
                  {role && ` · ${members.roles[role]}`}
                </div>
              </div>
              <Link className="btn s" to="/projects" onClick={closeOverlay}>
                {nav.switchProject}
                <ChevronsUpDown className="i s" aria-hidden="true" />
              </Link>
            </div>
            <div className="acts">
              <button type="button" onClick={() => openOverlay('palette')}>
                <Search className="i" aria-hidden="true" />
                {palette.title}
              </button>
              {pages.map(({ to, label, icon: Icon }) => (
                <Link key={to} to={to} params={{ projectId }} onClick={closeOverlay}>
                  <Icon className="i" aria-hidden="true" />
                  {label}
                </Link>
              ))}
              {service.map(({ to, label, icon: Icon, Badge }, index) => (
                <div key={to} className="act">
                  {index === 0 && <hr />}
                  <Link to={to} onClick={closeOverlay}>
                    <Icon className="i" aria-hidden="true" />
                    {label}
                    {Badge && <Badge />}
                  </Link>
                </div>
              ))}
              {actions.map(({ label, icon: Icon, isNewGroup, isOn, run }, index) => (
                <div key={label} className="act">
                  {(isNewGroup || index === 0) && <hr />}
                  <button
                    type="button"
                    aria-pressed={isOn}
                    onClick={() => {
                      closeOverlay();
                      run();
                    }}
                  >
                    {Icon && <Icon className="i" aria-hidden="true" />}
                    {label}
                  </button>
                </div>
              ))}
            </div>
          </Base.Popup>
        </Base.Viewport>
      </Base.Portal>
    </Base.Root>
  );
}
