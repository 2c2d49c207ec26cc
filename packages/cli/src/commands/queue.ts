import { manageQueue } from '@cadiz/server/queue';
import type { Run } from '../command.ts';

export const run: Run<'queue list' | 'queue retry'> = async ({ output }, { name, args: [kind, id] }) => {
  return manageQueue({ command: name.slice('queue '.length), kind, id }, output.isJson);
};
