import type { Run } from '../command.ts';
import { connect, connectAccount, projectOf, targetOf } from '../context.ts';
import { toMinute } from '../format.ts';
import { printable, toTable } from '../output.ts';
import { listProjects } from '../projects.ts';

export const run: Run<'projects list'> = async (context) => {
  const target = await targetOf(context);
  if (!target.session) {
    // A key cannot list projects, but knows its own.
    const key = await (await connect(context)).keys.current();
    const id = projectOf(target, key);
    context.output.print({ projects: id ? [{ id }] : [] }, id ?? '');
    context.output.say(
      `The key ${key.name} ${key.projectId ? 'is tied to this project' : 'is tied to no project'}. To see all: cadiz login --account`,
    );
    return;
  }
  const { client } = await connectAccount(context);
  const projects = await listProjects(client);
  const rows = projects.map(({ id, name, createdAt }) => [
    id === target.projectId ? '*' : ' ',
    id,
    toMinute(createdAt),
    printable(name),
  ]);
  context.output.print({ projects }, toTable(rows));
  if (projects.length === 0) context.output.say('There is no project yet: cadiz projects create NAME --use');
};
