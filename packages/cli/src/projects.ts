import type { Client } from '@cadiz/client';
import { type Target, toLoginAccount } from './config.ts';
import { exitCodes, Failure, usageFailure } from './failure.ts';
import { printable } from './output.ts';

/** A project as its members see it. */
export interface Project {
  id: string;
  name: string;
  createdAt: string;
}

/** So many names fit into a sentence. */
const mostNames = 10;

export const isProjectId = (text: string): boolean => /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i.test(text);

export const listProjects = async (client: Client): Promise<Project[]> =>
  (await client.request<{ projects: Project[] }>({ path: '/api/projects' })).projects;

/** The project with this id or name. @throws Failure */
export function findProject(projects: readonly Project[], wanted: string): Project {
  const found = projects.filter(({ id, name }) => id === wanted.toLowerCase() || name === wanted);
  const [project] = found;
  if (found.length > 1)
    throw usageFailure(
      `Several projects are named ${printable(wanted)}; give an id: ${found.map(({ id }) => id).join(', ')}`,
    );
  if (project) return project;
  const names = [...new Set(projects.map(({ name }) => printable(name)))];
  const there =
    names.length > 0 && names.length <= mostNames ? ` There are: ${names.join(', ')}.` : ' See cadiz projects list.';
  throw new Failure(exitCodes.notFound, `There is no project ${printable(wanted)}.${there}`);
}

/** A key is asked for a project by its name. */
export const nameless = (target: Target): Failure =>
  usageFailure(`A key does not know the names of projects: give an id, or sign in: ${toLoginAccount(target)}`);
