/**
 * One call of a client, with all its repetitions. Times are milliseconds of one clock.
 *
 * - `ok`: acknowledged with a 2xx.
 * - `failed`: refused with a 4xx, so certainly not done.
 * - `unknown`: no answer, or a 5xx. It may have been done.
 *
 * @typedef {{
 *   operation: 'presign' | 'put' | 'record' | 'list' | 'get' | 'delete' | 'revoke' | 'use',
 *   projectId: string,
 *   start: number,
 *   end: number,
 *   outcome: 'ok' | 'failed' | 'unknown',
 *   status?: number,
 *   code?: string,
 *   attempts?: number,
 *   late?: number,
 *   storeKey?: string,
 *   fileName?: string,
 *   fileSize?: number,
 *   fileId?: string,
 *   keyId?: string,
 *   listed?: string[],
 * }} Operation
 *   `late` is how long after its planned time a journey began; `listed` are the store keys of a complete listing.
 *
 * @typedef {{ id: string, storeKey: string, fileName: string, fileSize: number }} ListedFile
 *
 * What a project holds when all is over, and the faults have ended.
 * @typedef {{ projectId: string, quotaBytes: number | null, files: ListedFile[], trashedBytes: number, totalBytes: number, unreadable: string[] }} FinalState
 *   `totalBytes` is without the trash; `unreadable` are the store keys of listed files whose object does not answer.
 *
 * @typedef {'lost' | 'doubled' | 'ghost' | 'listing' | 'deletion' | 'revocation' | 'quota' | 'usage'} Rule
 * @typedef {{ rule: Rule, detail: string }} Violation
 */

/**
 * Holds a history against what the service promises. Everything is a single pass over maps: it takes histories of any
 * length. The promises are about registers that are written once (a store key is recorded once, deleted once), so no
 * search for a linearization is needed.
 *
 * @param {readonly Operation[]} operations every call of every client, in any order
 * @param {readonly FinalState[]} finals every project that the clients used
 * @param {{ revokedWithinMilliseconds: number }} bounds how long a revoked key may still be accepted
 * @returns {Violation[]} empty if every promise was kept
 */
export function checkHistory(operations, finals, { revokedWithinMilliseconds }) {
  const lives = readLives(operations);
  return [
    ...finals.flatMap((final) => checkFinal(final, lives)),
    ...operations.flatMap((each) => checkListing(each, lives)),
    ...operations.flatMap((each) => checkGet(each, lives)),
    ...checkRevocations(operations, revokedWithinMilliseconds),
  ];
}

/**
 * What the clients know of one store key. Times are Infinity for what never happened.
 * @typedef {{
 *   projectId: string,
 *   fileName: string | undefined,
 *   fileSize: number | undefined,
 *   ids: Set<string>,
 *   recordTried: number,
 *   recorded: number,
 *   deleteTried: number,
 *   deleted: number,
 * }} Life
 */

/**
 * @param {readonly Operation[]} operations
 * @returns {Map<string, Life>} by store key
 */
function readLives(operations) {
  /** @type {Map<string, Life>} */
  const lives = new Map();
  for (const each of operations) {
    if (each.storeKey === undefined || (each.operation !== 'record' && each.operation !== 'delete')) continue;
    const life = lives.get(each.storeKey) ?? {
      projectId: each.projectId,
      fileName: undefined,
      fileSize: undefined,
      ids: new Set(),
      recordTried: Number.POSITIVE_INFINITY,
      recorded: Number.POSITIVE_INFINITY,
      deleteTried: Number.POSITIVE_INFINITY,
      deleted: Number.POSITIVE_INFINITY,
    };
    lives.set(each.storeKey, life);
    const isAcknowledged = each.outcome === 'ok';
    if (each.operation === 'record' && each.outcome !== 'failed') {
      life.fileName = each.fileName;
      life.fileSize = each.fileSize;
      life.recordTried = Math.min(life.recordTried, each.start);
      if (isAcknowledged) life.recorded = Math.min(life.recorded, each.end);
      if (isAcknowledged && each.fileId !== undefined) life.ids.add(each.fileId);
    }
    if (each.operation === 'delete' && each.outcome !== 'failed') {
      life.deleteTried = Math.min(life.deleteTried, each.start);
      if (isAcknowledged) life.deleted = Math.min(life.deleted, each.end);
    }
  }
  return lives;
}

/**
 * @param {FinalState} final
 * @param {Map<string, Life>} lives
 * @returns {Violation[]}
 */
function checkFinal({ projectId, quotaBytes, files, totalBytes, trashedBytes, unreadable }, lives) {
  /** @type {Violation[]} */
  const violations = [];
  const byStoreKey = new Map(files.map((file) => [file.storeKey, file]));

  for (const name of repeated(files.map(({ storeKey }) => storeKey))) {
    violations.push({ rule: 'doubled', detail: `${name} has several rows` });
  }
  // Each journey of the load has a name of its own and records one upload.
  for (const name of repeated(files.map(({ fileName }) => fileName))) {
    violations.push({ rule: 'doubled', detail: `${name} was recorded several times` });
  }
  for (const [storeKey, life] of lives) {
    if (life.projectId !== projectId) continue;
    const file = byStoreKey.get(storeKey);
    if (life.ids.size > 1) violations.push({ rule: 'doubled', detail: `${storeKey} was given several ids` });
    if (file && life.deleted !== Number.POSITIVE_INFINITY) {
      violations.push({ rule: 'deletion', detail: `${storeKey} is there although it was deleted` });
    }
    if (life.recorded === Number.POSITIVE_INFINITY || life.deleteTried !== Number.POSITIVE_INFINITY) continue;
    if (!file) violations.push({ rule: 'lost', detail: `${storeKey} was acknowledged and is not listed` });
    else if (!life.ids.has(file.id) || file.fileSize !== life.fileSize || file.fileName !== life.fileName) {
      violations.push({ rule: 'lost', detail: `${storeKey} is not what was acknowledged` });
    }
  }
  for (const { storeKey } of files) {
    const isTried = (lives.get(storeKey)?.recordTried ?? Number.POSITIVE_INFINITY) !== Number.POSITIVE_INFINITY;
    if (!isTried) violations.push({ rule: 'ghost', detail: `${storeKey} is listed and was never recorded` });
  }
  for (const storeKey of unreadable) {
    violations.push({ rule: 'lost', detail: `the object of ${storeKey} does not answer` });
  }

  const listedBytes = files.reduce((sum, { fileSize }) => sum + fileSize, 0);
  if (totalBytes !== listedBytes) {
    violations.push({ rule: 'usage', detail: `${projectId} counts ${totalBytes} bytes and lists ${listedBytes}` });
  }
  const stored = Math.max(totalBytes + trashedBytes, sumAcknowledged(projectId, lives));
  if (quotaBytes !== null && stored > quotaBytes) {
    violations.push({ rule: 'quota', detail: `${projectId} stores ${stored} bytes of ${quotaBytes}` });
  }
  return violations;
}

/**
 * @param {string} projectId
 * @param {Map<string, Life>} lives
 */
function sumAcknowledged(projectId, lives) {
  let bytes = 0;
  for (const life of lives.values()) {
    if (life.projectId === projectId && life.recorded !== Number.POSITIVE_INFINITY) bytes += life.fileSize ?? 0;
  }
  return bytes;
}

/**
 * A listing shows what was acknowledged before it began, and nothing whose deletion was.
 * @param {Operation} listing
 * @param {Map<string, Life>} lives
 * @returns {Violation[]}
 */
function checkListing({ operation, outcome, projectId, start, end, listed }, lives) {
  if (operation !== 'list' || outcome !== 'ok' || listed === undefined) return [];
  /** @type {Violation[]} */
  const violations = [];
  const shown = new Set(listed);
  for (const storeKey of repeated(listed)) {
    violations.push({ rule: 'listing', detail: `${storeKey} is in one listing several times` });
  }
  for (const [storeKey, life] of lives) {
    if (life.projectId !== projectId) continue;
    if (!shown.has(storeKey) && life.recorded < start && life.deleteTried > end) {
      violations.push({ rule: 'listing', detail: `${storeKey} is missing from a listing that began after its record` });
    }
    if (shown.has(storeKey) && life.deleted < start) {
      violations.push({ rule: 'deletion', detail: `${storeKey} is in a listing that began after its deletion` });
    }
  }
  for (const storeKey of shown) {
    if ((lives.get(storeKey)?.recordTried ?? Number.POSITIVE_INFINITY) > end) {
      violations.push({ rule: 'ghost', detail: `${storeKey} was listed before it was recorded` });
    }
  }
  return violations;
}

/**
 * @param {Operation} get
 * @param {Map<string, Life>} lives
 * @returns {Violation[]}
 */
function checkGet({ operation, outcome, status, start, end, storeKey = '' }, lives) {
  const life = lives.get(storeKey);
  if (operation !== 'get' || life === undefined) return [];
  if (outcome === 'ok' && life.deleted < start) {
    return [{ rule: 'deletion', detail: `${storeKey} was answered after its deletion` }];
  }
  if (status === 404 && life.recorded < start && life.deleteTried > end) {
    return [{ rule: 'lost', detail: `${storeKey} was not found after its record` }];
  }
  return [];
}

/**
 * @param {readonly Operation[]} operations
 * @param {number} withinMilliseconds
 * @returns {Violation[]}
 */
function checkRevocations(operations, withinMilliseconds) {
  /** @type {Map<string, number>} */
  const revoked = new Map();
  for (const { operation, outcome, keyId, end } of operations) {
    if (operation === 'revoke' && outcome === 'ok' && keyId !== undefined) {
      revoked.set(keyId, Math.min(end, revoked.get(keyId) ?? end));
    }
  }
  return operations.flatMap(({ operation, outcome, keyId, start }) => {
    const at = revoked.get(keyId ?? '');
    if (operation !== 'use' || outcome !== 'ok' || at === undefined || start <= at + withinMilliseconds) return [];
    return [{ rule: 'revocation', detail: `key ${keyId} was accepted ${Math.round(start - at)} ms after its end` }];
  });
}

/**
 * @param {readonly string[]} values
 * @returns {Set<string>} those that occur more than once
 */
function repeated(values) {
  const seen = new Set();
  return new Set(values.filter((value) => seen.size === seen.add(value).size));
}
