import type { Run } from '../command.ts';
import { readStored, store } from '../config.ts';
import { clientOf, connectAccount, targetOf } from '../context.ts';
import { exitCodes, Failure, usageFailure } from '../failure.ts';
import { findProject, listProjects } from '../projects.ts';

export const run: Run<'projects use'> = async (context, { args: [wanted = ''] }) => {
  const { url, session, apiKey } = await targetOf(context);
  let id = wanted;
  if (session) {
    id = findProject(await listProjects((await connectAccount(context)).client), wanted).id;
  } else if (!apiKey) {
    throw new Failure(exitCodes.signIn, `Nobody is signed in to ${url}: run cadiz login.`);
  } else if (!/^[\da-f-]{36}$/i.test(wanted)) {
    throw usageFailure('A key does not know the names of projects: give an id, or sign in with cadiz login --account.');
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
