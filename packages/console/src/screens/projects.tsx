import { useQuery, useSuspenseQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { FolderOpen, Plus } from 'lucide-react';
import { call } from '../api.ts';
import { Button } from '../components/button.tsx';
import { Field } from '../components/field.tsx';
import { Mark } from '../components/mark.tsx';
import { Empty, Meter } from '../components/parts.tsx';
import { ProblemNote, problemOf } from '../components/problem.tsx';
import { formatBytes } from '../format.ts';
import { type Project, projectsQuery, queryClient, usageQuery } from '../queries.ts';
import { text } from '../text/text.ts';
import { Entry } from './entry/entry.tsx';
import { useForm } from './entry/form.ts';
import { Steps } from './entry/steps.tsx';
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
          <Meter share={usage.totalBytes / usage.quotaBytes} label={text.nav.usage} valueText={usageWords(usage)} />
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

/** The first project is the second step of setting up. */
export function NewProject() {
  const { data: projects } = useSuspenseQuery(projectsQuery);
  const navigate = useNavigate();
  const isFirst = projects.length === 0;
  const { onSubmit, error, isPending } = useForm(async ({ name = '' }) => {
    const { id } = await call('createProject', { name });
    await queryClient.invalidateQueries({ queryKey: projectsQuery.queryKey });
    await navigate({ to: '/projects/$projectId/files', params: { projectId: id } });
  });
  const { setup } = text;
  return (
    <Entry title={setup.projectTitle} lead={setup.projectLead} above={isFirst && <Steps current={1} />}>
      <form className="stack g4" onSubmit={onSubmit}>
        <Field
          label={setup.projectName}
          name="name"
          placeholder={setup.projectExample}
          maxLength={200}
          required
          autoFocus
          problem={problemOf(error, 'name')}
        />
        <ProblemNote error={error} />
        <Button look="main" size="l" className="wide" type="submit" busy={isPending}>
          {setup.createProject}
        </Button>
      </form>
      {!isFirst && <Link to="/projects">{text.common.cancel}</Link>}
    </Entry>
  );
}
