import type { Run } from '../command.ts';
import { readTarget } from '../config.ts';
import { clientOf, connect, keyOf, projectOf } from '../context.ts';
import { toMinute } from '../format.ts';
import { printable, toTable } from '../output.ts';
import { listProjects } from '../projects.ts';

export const run: Run<'projects list'> = async (context) => {
  // As it was written: whoever has given a wrong one looks here for the right one.
  const target = await readTarget(context.env, context.project);
  if (!target.session) {
    // A key cannot list projects, but knows its own.
    const key = await keyOf(await connect(context), target);
    const id = projectOf(target, key);
    context.output.print({ projects: id ? [{ id }] : [] }, id ?? '');
    context.output.say(
      `The key ${key.name} ${key.projectId ? 'is tied to this project' : 'is tied to no project'}. To see all: cadiz login --account`,
    );
    return;
  }
  const { url, session, projectId } = target;
  const projects = await listProjects(clientOf(context, { url, session }));
  const rows = projects.map(({ id, name, createdAt }) => [
    id === projectId || name === projectId ? '*' : ' ',
    id,
    toMinute(createdAt),
    printable(name),
  ]);
  context.output.print({ projects }, toTable(rows));
  if (projects.length === 0) context.output.say('There is no project yet: cadiz projects create NAME --use');
};
