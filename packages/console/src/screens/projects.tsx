import { useQuery, useSuspenseQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { FolderOpen, Plus } from 'lucide-react';
import { Button } from '../components/button.tsx';
import { Mark } from '../components/mark.tsx';
import { Empty, Meter } from '../components/parts.tsx';
import { formatBytes } from '../format.ts';
import { type Project, projectsQuery, usageQuery } from '../queries.ts';
import { text } from '../text/text.ts';
import { AccountMenu } from './shell/account-menu.tsx';
import { useTitle } from './title.ts';

export function Projects() {
  const { data: projects } = useSuspenseQuery(projectsQuery);
  const heading = useTitle(text.projects.title);
  const navigate = useNavigate();
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

function ProjectCard({ project }: { project: Project }) {
  const { data: usage } = useQuery(usageQuery(project.id));
  return (
    <Link className="proj" to="/projects/$projectId/files" params={{ projectId: project.id }}>
      <div className="proj-text">
        <b className="clip">{project.name}</b>
        <span className="cap quiet num">{usage ? usageWords(usage) : ' '}</span>
        {usage?.quotaBytes ? (
          <Meter
            isLimit
            share={usage.totalBytes / usage.quotaBytes}
            label={text.nav.usage}
            valueText={usageWords(usage)}
          />
        ) : null}
      </div>
    </Link>
  );
}

function usageWords({
  fileCount,
  totalBytes,
  quotaBytes,
}: {
  fileCount: number;
  totalBytes: number;
  quotaBytes: number | null;
}) {
  const bytes = formatBytes(totalBytes);
  const size = quotaBytes === null ? bytes : text.common.sizeOf(bytes, formatBytes(quotaBytes));
  return `${text.common.files(fileCount)} · ${size}`;
}
