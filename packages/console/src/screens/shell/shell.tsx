import { useQuery, useSuspenseQuery } from '@tanstack/react-query';
import { Link, Outlet, useNavigate, useParams } from '@tanstack/react-router';
import {
  ArrowUpToLine,
  ChartColumn,
  ChevronsUpDown,
  CircleUser,
  FolderOpen,
  type LucideIcon,
  Menu as MenuIcon,
} from 'lucide-react';
import { useSyncExternalStore } from 'react';
import { Mark } from '../../components/mark.tsx';
import { Menu } from '../../components/menu.tsx';
import { Meter } from '../../components/parts.tsx';
import { formatBytes, formatShare } from '../../format.ts';
import { projectsQuery, toUsedBytes, usageQuery } from '../../queries.ts';
import { text } from '../../text/text.ts';
import { InShell, NotFound } from '../fallbacks.tsx';
import { DropZone } from '../uploads/drop-zone.tsx';
import { UploadsRegion } from '../uploads/uploads-region.tsx';
import { AccountMenu } from './account-menu.tsx';
import { Jump } from './jump.tsx';
import { NetworkStrip } from './network-strip.tsx';
import { isTrayOpen, openOverlay, uploadsTab } from './overlays.ts';
import { projectPages, useServicePages } from './pages.ts';
import { UpdateStrip } from './update-strip.tsx';
import { useIsPhone } from './use-is-phone.ts';
import { useLive } from './use-live.ts';

/** The frame of every screen with a session: navigation at the side, one sheet on a wall. */
export function Shell() {
  const { projectId: asked } = useParams({ strict: false });
  const { data: projects, isFetching } = useSuspenseQuery(projectsQuery);
  const isMissing = asked !== undefined && !isFetching && !projects.some(({ id }) => id === asked);
  const projectId = isMissing ? undefined : asked;
  useLive(projectId);
  const isPhone = useIsPhone();
  const isCovered = useSyncExternalStore(isTrayOpen.subscribe, isTrayOpen.read) && isPhone;
  return (
    <>
      <a className="btn skip" href="#content">
        {text.common.skipToContent}
      </a>
      <div className="app" inert={isCovered}>
        <aside className="side">
          <div className="side-top">
            <Mark />
            <Switcher projectId={projectId} />
          </div>
          <Jump />
          {projectId && (
            <>
              <ProjectNav projectId={projectId} group="content" label={text.nav.content} />
              <ProjectNav projectId={projectId} group="project" label={text.nav.project} hasHead />
            </>
          )}
          <ServiceNav />
          <div className="side-foot">
            {projectId && <Quota projectId={projectId} />}
            <AccountMenu />
          </div>
        </aside>
        <main className="sheet" id="content" tabIndex={-1}>
          <NetworkStrip />
          <UpdateStrip />
          <InShell value={true}>{isMissing ? <ProjectNotFound /> : <Outlet />}</InShell>
          {projectId && <DropZone projectId={projectId} />}
        </main>
        {projectId ? <TabBar projectId={projectId} /> : <ServiceTabBar />}
      </div>
      <UploadsRegion projectId={projectId} />
    </>
  );
}

const ProjectNotFound = () => <NotFound title={text.shell.noProject} hint={text.shell.noProjectHint} />;

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

function ServiceNav() {
  const pages = useServicePages();
  const { service } = text.nav;
  if (pages.length === 0) return null;
  return (
    <nav className="nav" aria-label={service}>
      <div className="nav-h">{service}</div>
      {pages.map(({ to, label, icon: Icon, Badge }) => (
        <Link key={to} to={to} activeProps={{ 'aria-current': 'page' }}>
          <Icon className="i" aria-hidden="true" />
          {label}
          {Badge && <Badge />}
        </Link>
      ))}
    </nav>
  );
}

function Quota({ projectId }: { projectId: string }) {
  const { data } = useQuery(usageQuery(projectId));
  if (!data) return null;
  const { quotaBytes } = data;
  const usedBytes = toUsedBytes(data);
  const used = formatBytes(usedBytes);
  const words = quotaBytes === null ? text.common.used(used) : text.common.sizeOf(used, formatBytes(quotaBytes));
  return (
    <div className="quota">
      <span className="line num">
        <span className="grow">{words}</span>
        {quotaBytes !== null && formatShare(usedBytes / quotaBytes)}
      </span>
      {quotaBytes !== null && <Meter isLimit share={usedBytes / quotaBytes} label={text.nav.usage} valueText={words} />}
    </div>
  );
}

/** The navigation of phones. */
function TabBar({ projectId }: { projectId: string }) {
  const { nav } = text;
  return (
    <nav className="tabbar" aria-label={nav.main}>
      <Tab to="/projects/$projectId/files" projectId={projectId} icon={FolderOpen} label={nav.files} />
      <button type="button" id={uploadsTab} aria-haspopup="true" onClick={() => isTrayOpen.set(true)}>
        <ArrowUpToLine className="i" aria-hidden="true" />
        {nav.uploads}
      </button>
      <Tab to="/projects/$projectId/usage" projectId={projectId} icon={ChartColumn} label={nav.usage} />
      <button type="button" aria-haspopup="dialog" onClick={() => openOverlay('more')}>
        <MenuIcon className="i" aria-hidden="true" />
        {nav.more}
      </button>
    </nav>
  );
}

/** The same, where no project is open. */
function ServiceTabBar() {
  const { nav } = text;
  const pages = [
    { to: '/projects', label: nav.allProjects, icon: FolderOpen },
    ...useServicePages(),
    { to: '/account', label: nav.account, icon: CircleUser },
  ] as const;
  return (
    <nav className="tabbar" aria-label={nav.main}>
      {pages.map(({ to, label, icon: Icon }) => (
        <Link key={to} to={to} activeProps={{ 'aria-current': 'page' }}>
          <Icon className="i" aria-hidden="true" />
          {label}
        </Link>
      ))}
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
