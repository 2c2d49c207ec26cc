import type { Client } from '@cadiz/client';
import { exitCodes, Failure } from './failure.ts';

/** A project as its members see it. */
export interface Project {
  id: string;
  name: string;
  createdAt: string;
}

export const listProjects = async (client: Client): Promise<Project[]> =>
  (await client.request<{ projects: Project[] }>({ path: '/api/projects' })).projects;

/** The project with this id or name. @throws Failure */
export function findProject(projects: readonly Project[], wanted: string): Project {
  const found = projects.filter(({ id, name }) => id === wanted.toLowerCase() || name === wanted);
  const [project] = found;
  if (found.length > 1)
    throw new Failure(
      exitCodes.usage,
      `Several projects are named ${wanted}; give an id: ${found.map(({ id }) => id).join(', ')}`,
    );
  if (!project) throw new Failure(exitCodes.notFound, `There is no project ${wanted}: cadiz projects list shows them.`);
  return project;
}
