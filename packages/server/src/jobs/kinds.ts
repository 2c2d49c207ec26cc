import { createContentChecks } from '../content/check-contents.ts';
import type { Deps } from '../deps.ts';
import { continueOperation, operationWork } from '../features/bulk/operation.ts';
import { prepareImage } from '../features/images/prepare-image.ts';
import { advanceReconciliation, reconciliationWork } from '../features/janitor/advance-reconciliation.ts';
import { continueQuarantine, quarantineWork } from '../features/quarantines/advance-quarantine.ts';
import { abortOverdueUpload, marginSeconds, uploadWork } from '../features/uploads/abort-overdue-upload.ts';
import { createWebhookWork } from '../features/webhooks/deliver.ts';
import { imageWork } from '../images/look.ts';
import { inOwnTrace } from '../telemetry/within-trace.ts';
import type { Kind } from '../work/work.ts';

/** Every kind of work that the service does later, about one subject each. `jobs.ts` has what it does regularly. */
export function createKinds(deps: Deps): Kind[] {
  // The work of webhooks has a state that all of its turns share, so its statements are not part of its traces.
  return [...describeKinds(deps), createWebhookWork(deps)].map((kind) => ({
    ...kind,
    run: (task, signal, count) =>
      inOwnTrace(deps, `work ${kind.name}`, { 'cadiz.attempt': task.attempt }, (own) => {
        const traced = own === deps ? kind : describeKinds(own).find(({ name }) => name === kind.name);
        return (traced ?? kind).run(task, signal, count);
      }),
  }));
}

function describeKinds(deps: Deps): Kind[] {
  return [
    ...createContentChecks(deps),
    {
      name: reconciliationWork,
      atOnce: 1,
      run: (task, signal, count) => advanceReconciliation(deps, task, signal, count),
    },
    {
      name: quarantineWork,
      atOnce: 1,
      run: (task, signal) => continueQuarantine(deps, task, signal),
    },
    {
      name: uploadWork,
      atOnce: 1,
      longestWaitSeconds: Math.max(deps.config.uploadDeadlineSeconds + marginSeconds, deps.config.janitorMarginSeconds),
      run: (task, _signal, count) => abortOverdueUpload(deps, task, count),
    },
    {
      // Fewer than there are processes that make images, so that requests find one free.
      name: imageWork,
      atOnce: 1,
      ahead: 20,
      run: (task, signal) => prepareImage(deps, task, signal),
    },
    {
      name: operationWork,
      atOnce: 1,
      run: (task, signal) => continueOperation(deps, task, signal),
    },
  ];
}
