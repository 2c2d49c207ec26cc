import type { Run } from '../command.ts';
import { readStored, readTarget, store } from '../config.ts';
import { clientOf } from '../context.ts';
import { exitCodes, Failure } from '../failure.ts';
import { findProject, isProjectId, listProjects, nameless } from '../projects.ts';

export const run: Run<'projects use'> = async (context, { args: [wanted = ''] }) => {
  const target = await readTarget(context.env);
  const { url, session, apiKey } = target;
  let id = wanted;
  if (session) {
    id = findProject(await listProjects(clientOf(context, { url, session })), wanted).id;
  } else if (!apiKey) {
    throw new Failure(exitCodes.signIn, `Nobody is signed in to ${url}: run cadiz login.`);
  } else if (!isProjectId(wanted)) {
    throw nameless(target);
  } else {
    // A key cannot look projects up; asking for the usage shows whether it may work there.
    await clientOf(context, { url, apiKey, projectId: id }).usage();
  }
  const known = (await readStored(context.env)).services[url];
  await store(context.env, url, { ...known, projectId: id });
  context.output.print({ projectId: id }, '');
  context.output.say(`Using the project ${wanted}.`);
  if (context.env.CADIZ_PROJECT_ID) context.output.warn('CADIZ_PROJECT_ID is set, and takes precedence.');
};
