import type { Run } from '../command.ts';
import { readStored, store } from '../config.ts';
import { connectAccount } from '../context.ts';
import type { Project } from '../projects.ts';

export const run: Run<'projects create'> = async (context, { args: [name = ''], options }) => {
  const { client, target } = await connectAccount(context);
  const project = await client.request<Project>({ method: 'POST', path: '/api/projects', body: { name } });
  if (options.use) {
    const known = (await readStored(context.env)).services[target.url];
    await store(context.env, target.url, { ...known, projectId: project.id });
  }
  context.output.print(project, project.id);
  context.output.say(`Created the project ${name}.`);
};
