import type { Run } from '../command.ts';
import { readFeed, toActor, toSubject, typeColumns } from '../event-feed.ts';
import { toSecond } from '../format.ts';
import { printable } from '../output.ts';

export const run: Run<'events'> = async (context, { options }) => {
  const { output } = context;
  const types = options.type.map((type) => ` --type ${type}`).join('');
  const toNext = (seq: string) => `cadiz events${options.follow ? ' --follow' : ''} --since ${seq}${types}`;
  if (options.follow) output.say('Waiting for events. Ctrl-C ends it.');
  for await (const event of readFeed(context, { ...options, toNext })) {
    const { seq, type, at } = event;
    const columns = [String(seq), toSecond(at), type.padEnd(typeColumns), printable(toSubject(event)), toActor(event)];
    output.printLine(event, columns.filter(Boolean).join('  '));
  }
};
