import { useQuery, useSuspenseQuery } from '@tanstack/react-query';
import { Link, Outlet, useNavigate, useParams } from '@tanstack/react-router';
import {
  ChartColumn,
  ChevronsUpDown,
  CircleUser,
  FolderOpen,
  KeyRound,
  type LucideIcon,
  Menu as MenuIcon,
  Settings2,
  Ticket,
  Trash2,
  UsersRound,
} from 'lucide-react';
import { Mark } from '../../components/mark.tsx';
import { Menu } from '../../components/menu.tsx';
import { Meter } from '../../components/parts.tsx';
import { formatBytes } from '../../format.ts';
import { projectsQuery, usageQuery } from '../../queries.ts';
import { text } from '../../text/text.ts';
import { DropZone } from '../uploads/drop-zone.tsx';
import { Tray } from '../uploads/tray.tsx';
import { AccountMenu } from './account-menu.tsx';

/** The pages of a project, in the order of the navigation. */
export const projectPages = [
  { to: '/projects/$projectId/files', label: text.nav.files, icon: FolderOpen, group: 'content' },
  { to: '/projects/$projectId/trash', label: text.nav.trash, icon: Trash2, group: 'content' },
  { to: '/projects/$projectId/usage', label: text.nav.usage, icon: ChartColumn, group: 'content' },
  { to: '/projects/$projectId/keys', label: text.nav.keys, icon: KeyRound, group: 'project' },
  { to: '/projects/$projectId/tickets', label: text.nav.tickets, icon: Ticket, group: 'project' },
  { to: '/projects/$projectId/members', label: text.nav.members, icon: UsersRound, group: 'project' },
  { to: '/projects/$projectId/settings', label: text.nav.settings, icon: Settings2, group: 'project' },
] as const;

/** The frame of every screen with a session: navigation at the side, one sheet on a wall. */
export function Shell() {
  const { projectId } = useParams({ strict: false });
  return (
    <>
      <a className="btn skip" href="#content">
        {text.common.skipToContent}
      </a>
      <div className="app">
        <aside className="side">
          <div className="side-top">
            <Mark />
            <Switcher projectId={projectId} />
          </div>
          {projectId && (
            <>
              <ProjectNav projectId={projectId} group="content" label={text.nav.content} />
              <ProjectNav projectId={projectId} group="project" label={text.nav.project} hasHead />
            </>
          )}
          <div className="side-foot">
            {projectId && <Quota projectId={projectId} />}
            <AccountMenu />
          </div>
        </aside>
        <main className="sheet" id="content" tabIndex={-1}>
          <Outlet />
          {projectId && <DropZone projectId={projectId} />}
        </main>
        {projectId && <TabBar projectId={projectId} />}
      </div>
      <Tray />
    </>
  );
}

function Switcher({ projectId }: { projectId: string | undefined }) {
  const { data: projects } = useSuspenseQuery(projectsQuery);
  const navigate = useNavigate();
  const current = projects.find(({ id }) => id === projectId);
  return (
    <Menu
      align="start"
      trigger={
        <button type="button" className="switcher" title={text.nav.switchProject}>
          <span className="clip">{current?.name ?? 'Cadiz'}</span>
          <ChevronsUpDown className="i s" aria-hidden="true" />
        </button>
      }
      actions={[
        ...projects.slice(0, 12).map(({ id, name }) => ({
          label: name,
          run: () => void navigate({ to: '/projects/$projectId/files', params: { projectId: id } }),
        })),
        {
          label: text.nav.allProjects,
          icon: FolderOpen,
          isNewGroup: true,
          run: () => void navigate({ to: '/projects' }),
        },
      ]}
    />
  );
}

function ProjectNav({
  projectId,
  group,
  label,
  hasHead,
}: {
  projectId: string;
  group: string;
  label: string;
  hasHead?: boolean;
}) {
  return (
    <nav className="nav" aria-label={label}>
      {hasHead && <div className="nav-h">{label}</div>}
      {projectPages
        .filter((page) => page.group === group)
        .map(({ to, label, icon: Icon }) => (
          <Link key={to} to={to} params={{ projectId }} activeProps={{ 'aria-current': 'page' }}>
            <Icon className="i" aria-hidden="true" />
            {label}
          </Link>
        ))}
    </nav>
  );
}

function Quota({ projectId }: { projectId: string }) {
  const { data } = useQuery(usageQuery(projectId));
  if (!data) return null;
  const { totalBytes, quotaBytes } = data;
  const used = formatBytes(totalBytes);
  const words = quotaBytes === null ? used : text.common.sizeOf(used, formatBytes(quotaBytes));
  return (
    <div className="quota">
      <span className="num">{words}</span>
      {quotaBytes !== null && (
        <Meter isLimit share={totalBytes / quotaBytes} label={text.nav.usage} valueText={words} />
      )}
    </div>
  );
}

/** The navigation of phones. */
function TabBar({ projectId }: { projectId: string }) {
  const navigate = useNavigate();
  const { nav } = text;
  const others = projectPages.filter(({ to }) => !/files|trash|usage/.test(to));
  return (
    <nav className="tabbar" aria-label={nav.main}>
      <Tab to="/projects/$projectId/files" projectId={projectId} icon={FolderOpen} label={nav.files} />
      <Tab to="/projects/$projectId/trash" projectId={projectId} icon={Trash2} label={nav.trash} />
      <Tab to="/projects/$projectId/usage" projectId={projectId} icon={ChartColumn} label={nav.usage} />
      <Menu
        side="top"
        trigger={
          <button type="button">
            <MenuIcon className="i" aria-hidden="true" />
            {nav.more}
          </button>
        }
        actions={[
          ...others.map(({ to, label, icon }) => ({
            label,
            icon,
            run: () => void navigate({ to, params: { projectId } }),
          })),
          { label: nav.allProjects, icon: FolderOpen, isNewGroup: true, run: () => void navigate({ to: '/projects' }) },
          { label: nav.account, icon: CircleUser, run: () => void navigate({ to: '/account' }) },
        ]}
      />
    </nav>
  );
}

interface TabProps {
  to: (typeof projectPages)[number]['to'];
  projectId: string;
  icon: LucideIcon;
  label: string;
}

const Tab = ({ to, projectId, icon: Icon, label }: TabProps) => (
  <Link to={to} params={{ projectId }} activeProps={{ 'aria-current': 'page' }}>
    <Icon className="i" aria-hidden="true" />
    {label}
  </Link>
);
