import { useSuspenseQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { projectsQuery, useRole } from '../../queries.ts';
import { later } from '../../text/later.ts';
import { ScreenNotFound } from '../fallbacks.tsx';
import { DeleteProject } from './delete-project.tsx';
import { ProjectForm } from './project-form.tsx';
import { Reconcile } from './reconcile.tsx';

/** What a project is called and accepts, whether its objects are all there, and its end. */
export function Settings() {
  const { projectId } = useParams({ from: '/signed-in/shell/projects/$projectId/settings' });
  const { data: projects } = useSuspenseQuery(projectsQuery);
  const isOwner = useRole(projectId) === 'owner';
  const project = projects.find(({ id }) => id === projectId);
  if (!project) return <ScreenNotFound />;
  return (
    <ProjectForm key={project.id} project={project} isOwner={isOwner}>
      {isOwner ? (
        <>
          <Reconcile projectId={projectId} />
          <DeleteProject project={project} />
        </>
      ) : (
        <p className="second">{later.settings.ownersOnly}</p>
      )}
    </ProjectForm>
  );
}
