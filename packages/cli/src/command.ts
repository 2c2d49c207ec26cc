import type { Context } from './context.ts';
import type { CommandName, Given } from './table.ts';

/** What a command does: it ends well, with a Failure, or with the exit code of a program of the service. */
export type Run<K extends CommandName> = (context: Context, given: Given<K>) => Promise<void> | Promise<number>;
