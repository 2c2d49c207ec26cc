import type { Input } from '@cadiz/contract';
import pLimit from 'p-limit';
import type { Uploader } from '../../access/caller.ts';
import { type OpenProject, openProject } from '../../access/open-project.ts';
import { createAccessCheck } from '../../access/reopen-project.ts';
import { attempt, type Outcome, ofEntry, Problem, requireAll, settle } from '../../problem.ts';
import type { FileView } from '../../views/file-view.ts';
import { findDifferences, requireSameFacts } from './find-differences.ts';
import { insertAllOrNone, insertFiles } from './insert-file.ts';
import {
  answerNotInserted,
  type Checked,
  checkUpload,
  countInserted,
  findUploadDifferences,
  type RecordDeps,
  type Recording,
  type SinglePut,
} from './record-upload.ts';

/** How many objects of one batch the store is asked for at once. */
const checkedAtOnce = 16;

/**
 * Records many uploads into one project: the object store is asked for several at once, and one statement inserts them
 * all. Each is recorded as `recordUpload` would, in this order, and is as safe to repeat.
 */
export async function recordBatch(
  deps: RecordDeps,
  caller: Uploader,
  { projectId, files, atomic = false }: Input<'recordBatch'>,
): Promise<{ results: ({ file: FileView } | { problem: Problem })[] }> {
  const project = await openProject(deps, caller, projectId, 'files:write');
  const requireAccess = createAccessCheck(deps, caller, project.id, 'files:write');
  const requests = files.map((file) => ({ ...file, projectId }));
  const limit = pLimit(checkedAtOnce);
  const checked = await limit.map(requests, (request) => settle(checkUpload(deps, caller, project, request)));
  // Asking a slow store for a hundred objects takes minutes.
  await requireAccess();
  const record = atomic ? recordAll : recordEach;
  const outcomes = await record(deps, caller, project, sortOut(requests, checked));
  return { results: outcomes.map((file) => (file instanceof Problem ? { problem: file } : { file })) };
}

/** A file of a batch that is to be inserted. */
interface Pending {
  /** Its place in the request. */
  index: number;
  request: Recording;
  facts: SinglePut;
}

interface SortedOut {
  /** By their place in the request; those that are pending are not there yet. */
  outcomes: Outcome<FileView>[];
  pending: Pending[];
}

function sortOut(requests: readonly Recording[], checked: readonly Outcome<Checked>[]): SortedOut {
  const outcomes = new Array<Outcome<FileView>>(requests.length);
  const pending: Pending[] = [];
  for (const [index, request] of requests.entries()) {
    const one = checked[index];
    if (one === undefined) continue;
    if (one instanceof Problem) outcomes[index] = one;
    else if ('recorded' in one) outcomes[index] = one.recorded;
    else pending.push({ index, request, facts: one.facts });
  }
  return { outcomes, pending };
}

async function recordEach(
  deps: RecordDeps,
  caller: Uploader,
  project: OpenProject<'files:write'>,
  { outcomes, pending }: SortedOut,
): Promise<Outcome<FileView>[]> {
  const finish = async ({ request, facts }: Pending, file: Outcome<FileView> | undefined) => {
    if (file instanceof Problem) return file;
    return file
      ? countInserted(deps, project, facts, file)
      : settle(answerNotInserted(deps, caller, project, request, facts));
  };
  for (const round of toRounds(pending)) {
    const inserted = await insertFiles(deps, caller, project, toFacts(round));
    const finished = await Promise.all(round.map((one, at) => finish(one, inserted[at])));
    for (const [at, outcome] of finished.entries()) outcomes[round[at]?.index ?? 0] = outcome;
  }
  return outcomes;
}

/** The storeKeys of a statement must differ: one that is named again is recorded again, in the next round. */
function toRounds(pending: readonly Pending[]): Pending[][] {
  const rounds: Pending[][] = [];
  const seen = new Map<string, number>();
  for (const one of pending) {
    const round = seen.get(one.facts.storeKey) ?? 0;
    seen.set(one.facts.storeKey, round + 1);
    rounds[round] = [...(rounds[round] ?? []), one];
  }
  return rounds;
}

/** @throws Problem that of the first file that fails; nothing is inserted then */
async function recordAll(
  deps: RecordDeps,
  caller: Uploader,
  project: OpenProject<'files:write'>,
  { outcomes, pending }: SortedOut,
): Promise<Outcome<FileView>[]> {
  requireAll(outcomes, 'files');
  const firsts = requireSameAgain(pending);
  await recordFirsts(deps, caller, project, [...firsts.values()], outcomes);
  for (const { index, facts } of pending) {
    const answered = outcomes[firsts.get(facts.storeKey)?.index ?? index];
    if (answered) outcomes[index] = answered;
  }
  return outcomes;
}

/** Records files of different storeKeys, as `recordAll` does, and notes the outcome of each. */
async function recordFirsts(
  deps: RecordDeps,
  caller: Uploader,
  project: OpenProject<'files:write'>,
  firsts: readonly Pending[],
  outcomes: SortedOut['outcomes'],
): Promise<void> {
  for (let left = firsts; left.length > 0; ) {
    const inserted = await insertAllOrNone(deps, caller, project, toFacts(left));
    if ('files' in inserted) {
      for (const [at, { index, facts }] of left.entries()) {
        const file = inserted.files[at];
        if (file) outcomes[index] = await countInserted(deps, project, facts, file);
      }
      return;
    }
    // What is recorded already does not stand in the way of the others.
    for (const { index, request, facts } of left) {
      if (!inserted.refused.has(facts)) continue;
      const outcome =
        inserted.refused.get(facts) ?? (await settle(answerNotInserted(deps, caller, project, request, facts)));
      if (outcome instanceof Problem) throw ofEntry(outcome, `files.${index}`);
      outcomes[index] = outcome;
    }
    left = left.filter(({ facts }) => !inserted.refused.has(facts));
  }
}

/**
 * The first file of each storeKey.
 * @throws Problem already_recorded if one is named again as another file
 */
function requireSameAgain(pending: readonly Pending[]): Map<string, Pending> {
  const firsts = new Map<string, Pending>();
  for (const one of pending) {
    const first = firsts.get(one.facts.storeKey);
    if (!first) firsts.set(one.facts.storeKey, one);
    const problem = first && attempt(() => requireSameFacts(findAllDifferences(first.facts, one.request)));
    if (problem) throw ofEntry(problem, `files.${one.index}`);
  }
  return firsts;
}

function findAllDifferences(first: SinglePut, again: Recording): string[] {
  const replaces = first.replaced?.fileId ?? null;
  const { metadata = null, externalId = null, ticketId = null } = first;
  return [
    ...findUploadDifferences({ ...first, replaces }, again),
    ...findDifferences({ metadata, external_id: externalId, replaces, ticket_id: ticketId }, again),
  ];
}

function toFacts(round: readonly Pending[]): SinglePut[] {
  return round.map(({ facts }) => facts);
}
