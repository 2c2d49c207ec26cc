import type { Answer } from '@cadiz/contract';
import { useQuery, useSuspenseQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { FolderOpen, ImageOff, type LucideIcon, Plus } from 'lucide-react';
import { type RefObject, useEffect, useRef, useState } from 'react';
import { clientOf } from '../api.ts';
import { Button } from '../components/button.tsx';
import { Mark } from '../components/mark.tsx';
import { Badge, Empty, Meter } from '../components/parts.tsx';
import { formatBytes } from '../format.ts';
import { membersQuery, type Project, projectsQuery, toUsedBytes, usageQuery, useRole } from '../queries.ts';
import { text } from '../text/text.ts';
import { Picture, toSources } from './files/picture.tsx';
import { thumbnail } from './files/use-listing.ts';
import { AccountMenu } from './shell/account-menu.tsx';
import { HealthBadge } from './shell/health-badge.tsx';
import { Jump } from './shell/jump.tsx';
import { useServicePages } from './shell/pages.ts';
import { useTitle } from './title.ts';
import './projects.css';

export function Projects() {
  const { data: projects } = useSuspenseQuery(projectsQuery);
  const heading = useTitle(text.projects.title);
  const navigate = useNavigate();
  const [health] = useServicePages();
  const create = (
    <Button look="main" icon={Plus} onClick={() => navigate({ to: '/projects/new' })}>
      {text.projects.new}
    </Button>
  );
  return (
    <div className="home">
      <header className="topbar">
        <Mark />
        <b className="grow">Cadiz</b>
        <div className="only-wide">
          <Jump />
        </div>
        {health && (
          <Link className="btn ghost only-wide" to={health.to}>
            <health.icon className="i" aria-hidden="true" />
            {health.label}
            <HealthBadge />
          </Link>
        )}
        <AccountMenu isSmall />
      </header>
      <main className="home-in">
        <div className="line">
          <h1 ref={heading} tabIndex={-1} className="grow">
            {text.projects.title}
          </h1>
          {projects.length > 0 && create}
        </div>
        {projects.length === 0 ? (
          <Empty icon={FolderOpen} title={text.projects.empty} hint={text.projects.emptyInvited} action={create} />
        ) : (
          <div className="projs">
            {projects.map((project) => (
              <ProjectCard key={project.id} project={project} />
            ))}
          </div>
        )}
      </main>
    </div>
  );
}

/** What is known of a project is read once it is seen: somebody may have a thousand. */
function ProjectCard({ project }: { project: Project }) {
  const [isSeen, card] = useSeen();
  const { data: usage } = useQuery({ ...usageQuery(project.id), enabled: isSeen });
  return (
    <Link ref={card} className="proj" to="/projects/$projectId/files" params={{ projectId: project.id }}>
      <Mosaic projectId={project.id} isSeen={isSeen} />
      <div className="proj-text">
        <span className="line">
          <b className="clip grow">
            <bdi>{project.name}</bdi>
          </b>
          {isSeen && <RoleBadge projectId={project.id} />}
        </span>
        <span className="cap quiet num">{usage ? usageWords(usage) : '\u00a0'}</span>
        {usage?.quotaBytes ? (
          <Meter
            isLimit
            share={toUsedBytes(usage) / usage.quotaBytes}
            label={text.nav.usage}
            valueText={usageWords(usage)}
          />
        ) : null}
      </div>
    </Link>
  );
}

function RoleBadge({ projectId }: { projectId: string }) {
  const { isSuccess: isKnown } = useQuery(membersQuery(projectId));
  const role = useRole(projectId);
  return isKnown && <Badge>{text.members.roles[role]}</Badge>;
}

/** Whether an element has come near the window. */
function useSeen(): [boolean, RefObject<HTMLAnchorElement | null>] {
  const element = useRef<HTMLAnchorElement>(null);
  const [isSeen, setSeen] = useState(false);
  useEffect(() => {
    if (isSeen || !element.current) return;
    const observer = new IntersectionObserver((entries) => setSeen(entries.some((entry) => entry.isIntersecting)), {
      rootMargin: '200px',
    });
    observer.observe(element.current);
    return () => observer.disconnect();
  }, [isSeen]);
  return [isSeen, element];
}

const mostPictures = 4;
/** Among how many files they are looked for. */
const amongLatest = 20;

/** The latest pictures of a project. */
function Mosaic({ projectId, isSeen }: { projectId: string; isSeen: boolean }) {
  const { data: pictures = [] } = useQuery({
    queryKey: ['mosaic', projectId],
    enabled: isSeen,
    queryFn: async () => {
      const latest = { sort: 'createdAt', order: 'desc', limit: amongLatest, thumbnail } as const;
      const { files } = await clientOf(projectId).files.page(latest);
      return files.filter((file) => toSources(file).length > 0).slice(0, mostPictures);
    },
  });
  return (
    <div className="mosaic">
      {pictures.map((file) => (
        <Picture key={file.id} sources={toSources(file)} none={<NoPicture icon={ImageOff} />} />
      ))}
      {pictures.length === 0 && <NoPicture icon={FolderOpen} />}
    </div>
  );
}

const NoPicture = ({ icon: Icon }: { icon: LucideIcon }) => (
  <span>
    <Icon className="i" aria-hidden="true" />
  </span>
);

function usageWords(usage: Answer<'usage'>) {
  const { fileCount, totalBytes, quotaBytes } = usage;
  const size =
    quotaBytes === null
      ? formatBytes(totalBytes)
      : text.common.sizeOf(formatBytes(toUsedBytes(usage)), formatBytes(quotaBytes));
  return `${text.common.files(fileCount)} · ${size}`;
}
