import { CreateProjectRequest, DeleteProjectQuery, ProjectParams, RenameProjectRequest } from '@cadiz/contract';
import { createProject } from '../../features/projects/create-project.ts';
import { getProject } from '../../features/projects/get-project.ts';
import { listProjects } from '../../features/projects/list-projects.ts';
import { removeProject } from '../../features/projects/remove-project.ts';
import { renameProject } from '../../features/projects/rename-project.ts';
import { requireSession } from '../caller.ts';
import type { Handler } from '../exchange.ts';
import { readBody, readParams, readQuery } from '../input.ts';

export const createProjectRoute: Handler = async (deps, c) => {
  const caller = await requireSession(deps, c);
  return createProject(deps, caller, await readBody(c, CreateProjectRequest));
};

export const listProjectsRoute: Handler = async (deps, c) => listProjects(deps, await requireSession(deps, c));

export const getProjectRoute: Handler = async (deps, c) => {
  const caller = await requireSession(deps, c);
  return getProject(deps, caller, readParams(c, ProjectParams).projectId);
};

export const renameProjectRoute: Handler = async (deps, c) => {
  const caller = await requireSession(deps, c);
  const { projectId } = readParams(c, ProjectParams);
  return renameProject(deps, caller, projectId, await readBody(c, RenameProjectRequest));
};

export const deleteProjectRoute: Handler = async (deps, c) => {
  const caller = await requireSession(deps, c);
  const { projectId } = readParams(c, ProjectParams);
  return removeProject(deps, caller, projectId, readQuery(c, DeleteProjectQuery));
};
