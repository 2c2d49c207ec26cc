import {
  CreateProjectRequest,
  DeleteProjectQuery,
  ProjectParams,
  ReconcileRequest,
  ReconciliationQuery,
  UpdateProjectRequest,
} from '@cadiz/contract';
import { getReconciliation } from '../../features/janitor/get-reconciliation.ts';
import { reconcileProject } from '../../features/janitor/reconcile-project.ts';
import { createProject } from '../../features/projects/create-project.ts';
import { getProject } from '../../features/projects/get-project.ts';
import { listProjects } from '../../features/projects/list-projects.ts';
import { removeProject } from '../../features/projects/remove-project.ts';
import { updateProject } from '../../features/projects/update-project.ts';
import { requireSession } from '../caller.ts';
import type { Handler } from '../exchange.ts';
import { readBody, readParams, readQuery } from '../input.ts';

export const createProjectRoute: Handler = async (deps, exchange) => {
  const caller = await requireSession(deps, exchange);
  return createProject(deps, caller, await readBody(exchange, CreateProjectRequest));
};

export const listProjectsRoute: Handler = async (deps, exchange) =>
  listProjects(deps, await requireSession(deps, exchange));

export const getProjectRoute: Handler = async (deps, exchange) => {
  const caller = await requireSession(deps, exchange);
  return getProject(deps, caller, readParams(exchange, ProjectParams).projectId);
};

export const updateProjectRoute: Handler = async (deps, exchange) => {
  const caller = await requireSession(deps, exchange);
  const { projectId } = readParams(exchange, ProjectParams);
  return updateProject(deps, caller, projectId, await readBody(exchange, UpdateProjectRequest));
};

export const deleteProjectRoute: Handler = async (deps, exchange) => {
  const caller = await requireSession(deps, exchange);
  const { projectId } = readParams(exchange, ProjectParams);
  return removeProject(deps, caller, projectId, readQuery(exchange, DeleteProjectQuery));
};

export const reconcileProjectRoute: Handler = async (deps, exchange) => {
  const caller = await requireSession(deps, exchange);
  const { projectId } = readParams(exchange, ProjectParams);
  return reconcileProject(deps, caller, projectId, await readBody(exchange, ReconcileRequest));
};

export const getReconciliationRoute: Handler = async (deps, exchange) => {
  const caller = await requireSession(deps, exchange);
  const { projectId } = readParams(exchange, ProjectParams);
  return getReconciliation(deps, caller, projectId, readQuery(exchange, ReconciliationQuery));
};
