import { confirm } from '../ask.ts';
import type { Run } from '../command.ts';
import { connect, usualConcurrency } from '../context.ts';
import { usageFailure } from '../failure.ts';
import { readWhole } from '../format.ts';
import { isRemote } from '../paths.ts';
import { createFilter } from '../transfer/filter.ts';
import { planSyncDown } from '../transfer/plan-sync-down.ts';
import { planSyncUp } from '../transfer/plan-sync-up.ts';
import { failIfAny, newReport, sayFailed, sayReport } from '../transfer/report.ts';
import { isTransfer, showActions } from '../transfer/sync-plan.ts';

export const run: Run<'sync'> = async (context, { args: [from = '', to = ''], options }) => {
  const began = performance.now();
  const { output } = context;
  const concurrency = readWhole('concurrency', options.concurrency ?? String(usualConcurrency), 1, 64);
  if (isRemote(from) === isRemote(to))
    throw usageFailure('One of the two must be in the project and begin with cadiz:, the other on this machine.');
  if (options.links && isRemote(from))
    throw usageFailure('--links follows symbolic links of SOURCE, and a project has none.');
  const client = await connect(context, { concurrency });
  const report = newReport();
  const rules = { ...options, filter: createFilter(options), concurrency };
  const plan = await (isRemote(to) ? planSyncUp : planSyncDown)(context, client, from, to, rules, report);
  const failedBefore = report.failed.length;
  sayFailed(output, report);
  const { actions, deletes } = plan;
  if (!output.isJson) output.print(undefined, showActions(actions));
  if (options['dry-run']) {
    if (output.isJson) output.print({ dryRun: true, actions, ...report }, '');
    output.say(actions.length === 0 ? 'Nothing would be done.' : `${actions.length} in all. Nothing was done.`);
    return failIfAny(report, actions.filter(isTransfer).length);
  }
  if (deletes) await confirm(context, deletes, context.yes);
  await plan.carryOut();
  if (output.isJson) output.print({ dryRun: false, actions, ...report }, '');
  if (actions.length === 0 && failedBefore === 0) output.say('Nothing to do: both sides are the same.');
  else sayReport(output, isRemote(to) ? 'Uploaded' : 'Downloaded', report, began);
  failIfAny(report);
};
