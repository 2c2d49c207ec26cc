import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { checkHistory } from './check-history.mjs';
import { has, openCluster } from './cluster.mjs';
import { until } from './parts.mjs';
import { leaseSeconds } from './postgres.mjs';

/**
 * @typedef {{ name: string, measured: string, bound: string, holds: boolean, isTime?: true }} Figure
 *   A time says as much about the machine as about the service.
 * @typedef {{ seed: number, short: boolean }} FaultOptions
 * @typedef {{ does: string, missing: () => string | undefined, run: (options: FaultOptions) => Promise<Figure[]> }} Fault
 *   `missing` says what the machine lacks for it.
 *
 * @typedef {import('./check-history.mjs').Operation} Operation
 * @typedef {import('./check-history.mjs').FinalState} FinalState
 * @typedef {import('./cluster.mjs').Cluster} Cluster
 * @typedef {{ cookie: string, apiKey: string, projects: string[], quotaBytes: number }} Account
 */

const faketime = '/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1';

/** @type {Record<string, Fault>} */
export const faults = {
  'kill-replica': { does: 'kill -9 of one replica after another; clients retry', missing: needs(), run: killReplicas },
  'restart-all': { does: 'SIGTERM to all three in turn; clients do not retry', missing: needs(), run: restartAll },
  outage: { does: 'PostgreSQL ends, and comes back after 20 s', missing: needs(), run: outage },
  'kill-primary': {
    does: 'the primary PostgreSQL is killed; a synchronous standby takes over',
    missing: needsNamespaces('patroni', 'etcd'),
    run: killPrimaries,
  },
  'kill-primary-asynchronous': {
    does: 'the same with a standby that is behind: the check must see what is lost',
    missing: needsNamespaces('patroni', 'etcd'),
    run: losePrimary,
  },
  switchover: {
    does: 'two PostgreSQL servers exchange their roles as planned',
    missing: needsNamespaces('patroni', 'etcd'),
    run: switchOver,
  },
  'lose-osd': {
    does: 'Ceph loses one of three disks, then two, and has them back',
    missing: needsNamespaces('radosgw', 'radosgw-admin', 'ceph-mon', 'ceph-osd', 'ceph', 'curl'),
    run: loseDisks,
  },
  'store-silent': {
    does: 'all replicas lose the object store for 20 s, and nobody is told',
    missing: needsNamespaces(),
    run: silenceStore,
  },
  partition: { does: 'one replica loses PostgreSQL for 60 s', missing: needs(), run: partition },
  revocation: { does: 'keys are revoked, also without notifications', missing: needs(), run: revocation },
  pgbouncer: {
    does: 'transaction pooling',
    missing: needs('pgbouncer'),
    run: (options) => pooled(options, 'plain'),
  },
  'pgbouncer-prepares': {
    does: 'the same, by a pgbouncer that keeps what its clients prepare',
    missing: needsPreparingPooler,
    run: (options) => pooled(options, 'prepares'),
  },
  clock: { does: 'two replicas are ten minutes off', missing: needsFile(faketime), run: clocks },
};

/** @param {string[]} programs */
function needs(...programs) {
  const missing = ['haproxy', ...programs].find((program) => !has(program));
  return () => (missing === undefined ? undefined : `${missing} is not installed`);
}

/** @param {string[]} programs */
function needsNamespaces(...programs) {
  return () => {
    const missing = needs(...programs)();
    if (missing !== undefined) return missing;
    const probe = `cz${process.pid}-probe`;
    if (spawnSync('ip', ['netns', 'add', probe]).status !== 0) return 'network namespaces are refused';
    spawnSync('ip', ['netns', 'delete', probe]);
    return undefined;
  };
}

function needsPreparingPooler() {
  const missing = needs('pgbouncer')();
  if (missing !== undefined) return missing;
  const said = spawnSync('pgbouncer', ['--version'], { encoding: 'utf8' }).stdout;
  const [, major, minor] = /PgBouncer (\d+)\.(\d+)/.exec(said) ?? [];
  return Number(major) === 1 && Number(minor) < 21
    ? `this is pgbouncer ${major}.${minor}, and it takes 1.21`
    : undefined;
}

/** @param {string} path */
function needsFile(path) {
  return () => needs()() ?? (existsSync(path) ? undefined : `${path} is not installed`);
}

// --- the faults

/** @param {FaultOptions} options */
function killReplicas({ seed, short }) {
  return withCluster({}, async (cluster) => {
    const load = await startLoad(cluster, { seed, retries: true });
    const rounds = short ? 2 : 6;
    /** @type {number[]} */
    const kills = [];
    for (let round = 0; round < rounds; round += 1) {
      await load.untilMore(200);
      const replica = pick(cluster.replicas, seed + round);
      kills.push(now());
      await replica.stop('SIGKILL');
      await load.untilMore(200);
      await replica.start();
      await cluster.untilUp(3);
    }
    const history = await load.stop();
    return [
      ...(await judge(cluster, load.account, history)),
      atMost(
        'longest time without an answer after a kill',
        Math.max(...kills.map((kill) => longestGap(history, kill, 5_000))),
        1000,
      ),
    ];
  });
}

/** @param {FaultOptions} options */
function restartAll({ seed, short }) {
  return withCluster({}, async (cluster) => {
    const load = await startLoad(cluster, { seed, retries: false });
    const codes = [];
    const wanted = short ? 0 : 5_000;
    for (let round = 0; round < (short ? 1 : 3) || load.calls() < wanted; round += 1) {
      for (const replica of cluster.replicas) {
        await load.untilMore(100);
        codes.push(await replica.stop('SIGTERM'));
        await replica.start();
        await cluster.untilUp(3);
      }
    }
    await load.untilMore(100);
    const history = await load.stop();
    return [
      ...(await judge(cluster, load.account, history)),
      none('calls that failed', unexpected(history), history.length),
      none(
        'exit codes other than 0',
        codes.filter((code) => code !== 0),
      ),
    ];
  });
}

/** @param {FaultOptions} options */
function outage({ seed, short }) {
  return withCluster({}, async (cluster) => {
    const load = await startLoad(cluster, { seed, retries: true });
    await load.untilMore(200);
    const { apiKey, projects } = load.account;
    const presign = () => ask(cluster.url, 'POST', '/api/storage/presign', apiKey, smallFile(projects));
    const list = () => ask(cluster.url, 'GET', `/api/storage/list?projectId=${projects[0]}&folderId=root`, apiKey);

    await warmUp(cluster, load.account);
    await cluster.postgres.stop('SIGQUIT');
    const cold = [];
    const warm = [];
    const until = Date.now() + (short ? 5_000 : 20_000);
    for (let round = 0; Date.now() < until; round += 1) {
      // What is cached is believed for ten seconds.
      if (round < 20) warm.push(await presign());
      cold.push(await list());
      await delay(100);
    }
    const unready = cluster.replicas.map(async ({ url }) => (await ask(url, 'GET', '/readyz', apiKey)).status);
    const ready = (await Promise.all(unready)).filter((status) => status !== 200);
    await cluster.postgres.start();
    const back = performance.now();
    await untilAnswer(list);
    const recovery = performance.now() - back;
    const history = await load.stop();
    const apart = cold.filter(({ status, code, retryAfter }) => status !== 503 || code === '' || retryAfter === '');
    return [
      ...(await judge(cluster, load.account, history)),
      none(
        'presigns refused with warm caches',
        warm.filter(({ status }) => status !== 200),
        warm.length,
      ),
      none('other answers than a JSON 503 with Retry-After', apart, cold.length),
      atMost('slowest of these 503', Math.max(...cold.map(({ milliseconds }) => milliseconds)), 5_000),
      none('replicas that the outage made unready', ready),
      atMost('first listing after the return', recovery, 5_000),
    ];
  });
}

/** @param {FaultOptions} options */
function killPrimaries({ seed, short }) {
  return withPair('synchronous', async (cluster, pair) => {
    const load = await startLoad(cluster, { seed, retries: true });
    /** @type {number[]} */
    const kills = [];
    /** @type {Reply[]} */
    const warm = [];
    for (let round = 0; round < (short ? 1 : 3); round += 1) {
      await load.untilMore(300);
      const lost = await pair.primary();
      await warmUp(cluster, load.account);
      kills.push(now());
      await pair.kill(lost);
      warm.push(...(await presignWarm(cluster, load.account)));
      await until('the standby to take over', async () => (await pair.primary().catch(() => lost)) !== lost);
      await load.untilMore(200);
      await pair.startAgain(lost);
    }
    await load.untilMore(200);
    const history = await load.stop();
    return [
      ...(await judge(cluster, load.account, history, 10_000)),
      atMost('longest time without a recording', longestOutage(history, kills), (leaseSeconds + 5) * 1000),
      nearlyAll('warm presigns answered', warm),
      none('replicas that ended', ended(cluster)),
    ];
  });
}

/** @param {FaultOptions} options */
function losePrimary({ seed }) {
  return withPair('asynchronous', async (cluster, pair) => {
    const load = await startLoad(cluster, { seed, retries: true });
    await load.untilMore(300);
    const lost = await pair.primary();
    const standby = await pair.standby();
    await cluster.network.cut(lost, standby);
    await load.untilMore(100);
    await pair.kill(lost);
    await until('the standby to take over', async () => (await pair.primary().catch(() => lost)) !== lost);
    await load.untilMore(200);
    const history = await load.stop();
    const violations = await findViolations(cluster, load.account, history, 10_000);
    const count = violations.filter(({ rule }) => rule === 'lost').length;
    return [
      { name: 'lost files that the check found', measured: String(count), bound: 'at least 1', holds: count > 0 },
    ];
  });
}

/** @param {FaultOptions} options */
function switchOver({ seed, short }) {
  return withPair('synchronous', async (cluster, pair) => {
    const load = await startLoad(cluster, { seed, retries: true });
    /** @type {number[]} */
    const starts = [];
    for (let round = 0; round < (short ? 1 : 3); round += 1) {
      await load.untilMore(300);
      starts.push(now());
      await pair.switchOver();
      await pair.untilPair();
    }
    await load.untilMore(200);
    const history = await load.stop();
    return [
      ...(await judge(cluster, load.account, history, 10_000)),
      atMost('longest time without a recording', longestOutage(history, starts), 10_000),
      none('replicas that ended', ended(cluster)),
    ];
  });
}

/** @param {FaultOptions} options */
function loseDisks({ seed, short }) {
  return withCluster({ osds: 3 }, async (cluster) => {
    const { ceph } = cluster;
    if (!ceph) throw new Error('There is no Ceph.');
    const load = await startLoad(cluster, { seed, retries: true });
    await load.untilMore(200);
    const first = pick(ceph.osds, seed);
    const second = pick(ceph.osds, seed + 1);

    const oneLost = now();
    await first.stop('SIGKILL');
    await delay(short ? 15_000 : 60_000);
    const twoLost = now();

    const uploaded = await uploadUnrecorded(cluster, load.account);
    await second.stop('SIGKILL');
    await ceph.untilUp(1);
    const warm = presignWarm(cluster, load.account);
    const recordings = await Promise.all(
      uploaded.map((body) => ask(cluster.url, 'POST', '/api/storage/record', load.account.apiKey, body)),
    );
    await second.start();
    const back = performance.now();
    const [body] = uploaded;
    await untilAnswer(() => ask(cluster.url, 'POST', '/api/storage/record', load.account.apiKey, body));
    const recovery = performance.now() - back;
    await first.start();
    await load.untilMore(200);
    const history = await load.stop();
    const isBetween = (/** @type {Operation} */ { start, end }) => start >= oneLost && end < twoLost;
    const between = history.filter(isBetween);
    return [
      ...(await judge(cluster, load.account, history)),
      none('calls that failed with one disk lost', unexpected(history).filter(isBetween), between.length),
      none(
        'repetitions meanwhile',
        between.filter(({ attempts = 1 }) => attempts > 1),
        between.length,
      ),
      nearlyAll('presigns answered with two disks lost', await warm),
      none(
        'recordings answered other than 503 meanwhile',
        recordings.filter(({ status }) => status !== 503),
        recordings.length,
      ),
      atMost('slowest of these 503', Math.max(...recordings.map((reply) => reply.milliseconds)), 5_000),
      atMost('first recording after a disk is back', recovery, 10_000),
    ];
  });
}

/** @param {FaultOptions} options */
function silenceStore({ seed, short }) {
  return withCluster({}, async (cluster) => {
    const { replicas, network, store, url } = cluster;
    const load = await startLoad(cluster, { seed, retries: true });
    await load.untilMore(200);
    const { apiKey, projects } = load.account;
    const [body] = await uploadUnrecorded(cluster, load.account);
    const record = () => ask(url, 'POST', '/api/storage/record', apiKey, body);

    for (const { host } of replicas) await network.cut(host, store.host);
    const warm = presignWarm(cluster, load.account);
    /** @type {Promise<Reply>[]} */
    const recordings = [];
    /** @type {Promise<Reply>[]} */
    const listings = [];
    for (const until = Date.now() + (short ? 10_000 : 20_000); Date.now() < until; ) {
      // More at once than a process has connections to the store.
      for (let number = 0; number < 100; number += 1) recordings.push(record());
      listings.push(ask(url, 'GET', `/api/storage/list?projectId=${projects[0]}&folderId=root&limit=1`, apiKey));
      await delay(500);
    }
    const unready = replicas.map(async (replica) => (await ask(replica.url, 'GET', '/readyz', apiKey)).status);
    const ready = (await Promise.all(unready)).filter((status) => status !== 200);
    const replies = await Promise.all(recordings);
    for (const { host } of replicas) await network.mend(host, store.host);
    const back = performance.now();
    await untilAnswer(record);
    const recovery = performance.now() - back;
    const others = await Promise.all(listings);
    await load.untilMore(200);
    const history = await load.stop();
    return [
      ...(await judge(cluster, load.account, history)),
      nearlyAll('presigns answered', await warm),
      none(
        'listings that failed',
        others.filter(({ status }) => status !== 200),
        others.length,
      ),
      none(
        'recordings answered other than 503',
        replies.filter(({ status }) => status !== 503),
        replies.length,
      ),
      atMost('slowest of these 503', Math.max(...replies.map((reply) => reply.milliseconds)), 5_000),
      none('replicas that this made unready', ready),
      atMost('first recording after the return', recovery, 5_000),
    ];
  });
}

/** @param {FaultOptions} options */
function partition({ seed, short }) {
  return withCluster({}, async (cluster) => {
    if (!cluster.network.isolated) return leftOut('a partition');
    const load = await startLoad(cluster, { seed, retries: true });
    await load.untilMore(200);
    const lone = pick(cluster.replicas, seed);
    const others = cluster.replicas.filter((replica) => replica !== lone);
    const { apiKey, projects } = load.account;
    const usage = (/** @type {string} */ url) =>
      ask(url, 'GET', `/api/storage/list?projectId=${projects[0]}&folderId=root&limit=1`, apiKey);

    await cluster.network.cut(lone.host, cluster.postgres.host);
    /** @type {Promise<Reply>[]} */
    const atLone = [];
    /** @type {Promise<Reply>[]} */
    const atOthers = [];
    const until = Date.now() + (short ? 10_000 : 60_000);
    while (Date.now() < until) {
      atLone.push(usage(lone.url));
      for (const { url } of others) atOthers.push(usage(url));
      await delay(500);
    }
    await cluster.network.mend(lone.host, cluster.postgres.host);
    const back = performance.now();
    await untilAnswer(() => usage(lone.url));
    const recovery = performance.now() - back;
    const loneReplies = await Promise.all(atLone);
    const otherReplies = await Promise.all(atOthers);
    const history = await load.stop();
    return [
      ...(await judge(cluster, load.account, history, 10_000)),
      none(
        'answers of the lone replica other than 503',
        loneReplies.filter(({ status }) => status !== 503),
        atLone.length,
      ),
      atMost('slowest answer of the lone replica', Math.max(...loneReplies.map((reply) => reply.milliseconds)), 5_000),
      none(
        'failed calls of the others',
        otherReplies.filter(({ status }) => status !== 200),
        atOthers.length,
      ),
      atMost('first listing after the return', recovery, 5_000),
    ];
  });
}

/** @param {FaultOptions} options */
function revocation({ seed, short }) {
  return withCluster({ listenApart: true }, async (cluster) => {
    const account = await openAccount(cluster);
    const rounds = short ? 20 : 200;
    const lone = pick(cluster.replicas, seed);
    const healthy = (await revokeKeys(cluster, account, lone, rounds, 3_000)).sort((a, b) => a - b);
    const figures = [
      atMost(`slowest of ${rounds} revocations, across replicas`, Math.max(...healthy), 1_000),
      atMost('p99 of these', healthy[Math.ceil(rounds * 0.99) - 1] ?? Number.NaN, 100),
    ];
    if (!cluster.network.isolated) return [...figures, ...leftOut('revocation without notifications')];
    const deafened = cluster.replicas.filter((replica) => replica !== lone);
    for (const { host } of deafened) await cluster.network.cut(host, cluster.direct.host);
    const deaf = await revokeKeys(cluster, account, lone, short ? 2 : 5, 30_000);
    figures.push(atMost(`slowest of ${deaf.length} with the notification link cut`, Math.max(...deaf), 10_000));
    return figures;
  });
}

/**
 * @param {FaultOptions} options
 * @param {'plain' | 'prepares'} pooler
 */
function pooled({ seed, short }, pooler) {
  return withCluster({ pooler }, async (cluster) => {
    const load = await startLoad(cluster, { seed, retries: false });
    const wanted = short ? 2_000 : 20_000;
    const { apiKey, projects } = load.account;
    /** @type {Reply[]} */
    const failed = [];
    let sent = 0;
    const client = async () => {
      while (sent < wanted) {
        sent += 1;
        const path = sent % 2 === 0 ? 'usage?' : 'list?folderId=root&limit=10&';
        const reply = await ask(cluster.url, 'GET', `/api/storage/${path}projectId=${projects[0]}`, apiKey);
        if (reply.status !== 200) failed.push(reply);
      }
    };
    await Promise.all(Array.from({ length: 40 }, client));
    const history = await load.stop();
    return [
      ...(await judge(cluster, load.account, history)),
      none('requests of 40 clients that failed', failed, sent),
      none('calls of the load that failed', unexpected(history), history.length),
    ];
  });
}

/** @param {FaultOptions} options */
function clocks({ seed, short }) {
  const offsets = ['', '+10m', '-10m'];
  const settings = (/** @type {number} */ replica) => ({
    JANITOR_INTERVAL_SECONDS: '5',
    PRESIGN_TTL_SECONDS: '900',
    // Longer than the clocks are apart, so that what one replica has presigned can be recorded by every other.
    RECORD_DEADLINE_SECONDS: '1500',
    JANITOR_MARGIN_SECONDS: '1300',
    ...(offsets[replica]
      ? { LD_PRELOAD: faketime, FAKETIME: offsets[replica], FAKETIME_DONT_FAKE_MONOTONIC: '1' }
      : {}),
  });
  return withCluster({ settings }, async (cluster) => {
    const load = await startLoad(cluster, { seed, retries: false });
    await load.untilMore(300);
    await delay(short ? 10_000 : 60_000);
    const history = await load.stop();
    const refused = unexpected(history);
    console.log(`${refused.length} calls refused: ${[...new Set(refused.map(({ code }) => code))].join(', ')}`);
    return judge(cluster, load.account, history);
  });
}

// --- what they share

/**
 * @param {import('./cluster.mjs').ClusterOptions} options
 * @param {(cluster: Cluster) => Promise<Figure[]>} work
 */
async function withCluster(options, work) {
  const cluster = await openCluster(options);
  try {
    return await work(cluster);
  } finally {
    await cluster.close();
  }
}

/**
 * @param {import('./postgres.mjs').Replication} standby
 * @param {(cluster: Cluster, pair: import('./postgres.mjs').PostgresPair) => Promise<Figure[]>} work
 */
function withPair(standby, work) {
  return withCluster({ standby }, (cluster) => {
    if (!cluster.pair) throw new Error('There is no second PostgreSQL.');
    return work(cluster, cluster.pair);
  });
}

/** @param {string[]} projects */
function smallFile([projectId]) {
  return { fileName: 'a', mimeType: 'application/octet-stream', fileSize: 1, folderId: null, projectId };
}

/**
 * Has every replica look up the key and the project of `presignWarm`, so that its caches hold them for as long as they ever do: a
 * replica that was not asked for a while may have neither.
 * @param {Cluster} cluster
 * @param {Account} account
 */
async function warmUp({ replicas }, { apiKey, projects }) {
  await Promise.all(replicas.map(({ url }) => ask(url, 'POST', '/api/storage/presign', apiKey, smallFile(projects))));
  // What is half as old as it may become is looked up again after the answer.
  await delay(500);
}

/**
 * Presigns for as long as what is cached is surely believed: it is at most five of its ten seconds old.
 * @param {Cluster} cluster
 * @param {Account} account
 */
async function presignWarm({ url }, { apiKey, projects }) {
  const replies = [];
  for (const until = performance.now() + 4_500; performance.now() < until; ) {
    replies.push(await ask(url, 'POST', '/api/storage/presign', apiKey, smallFile(projects)));
    await delay(50);
  }
  return replies;
}

/**
 * @param {Cluster} cluster
 * @param {Account} account
 * @returns {Promise<object[]>} what records files whose objects are there, in a project that the load does not use
 */
async function uploadUnrecorded({ url }, { apiKey, cookie }) {
  const { id = '' } = await change(url, 'POST', '/api/projects', cookie, { name: 'Apart' });
  const bodies = [];
  for (let number = 0; number < 5; number += 1) {
    const body = smallFile([id]);
    const headers = { Authorization: `Bearer ${apiKey}`, 'Content-Type': 'application/json' };
    const presigned = await fetch(`${url}/api/storage/presign`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    });
    const { presignedUrl, storeKey } = /** @type {Record<string, string>} */ (await presigned.json());
    const put = await fetch(presignedUrl ?? '', { method: 'PUT', body: 'a' });
    if (!put.ok) throw new Error(`An upload was answered ${put.status}: ${await put.text()}`);
    bodies.push({ ...body, storeKey });
  }
  return bodies;
}

/** @param {Cluster} cluster */
function ended({ replicas }) {
  return replicas.filter((replica) => !replica.isRunning()).map(({ host }) => host.name);
}

function now() {
  return performance.timeOrigin + performance.now();
}

/**
 * The longest time without an acknowledged recording that began in the minute after one of these moments.
 * @param {Operation[]} history
 * @param {number[]} moments
 */
function longestOutage(history, moments) {
  const recordings = history.filter(({ operation }) => operation === 'record');
  return Math.max(...moments.map((moment) => longestGap(recordings, moment, 60_000)));
}

/**
 * @param {Cluster} cluster
 * @returns {Promise<Account>} somebody with a key for everything, a project without a quota and one with a small one
 */
async function openAccount({ url, folder }) {
  const person = { name: 'Ada', email: 'ada@example.com', password: 'a long enough password' };
  const [, token = ''] = /\/setup#(\S+)/.exec(readFileSync(join(folder, 'cadiz0.log'), 'utf8')) ?? [];
  const signedUp = await fetch(`${url}/api/auth/sign-up/email`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'X-Setup-Token': token },
    body: JSON.stringify(person),
  });
  if (!signedUp.ok) throw new Error(`Signing up was answered ${signedUp.status}: ${await signedUp.text()}`);
  const cookie = signedUp.headers
    .getSetCookie()
    .map((line) => line.split(';')[0])
    .join('; ');
  const quotaBytes = 200_000;
  const projects = [];
  for (const name of ['Large', 'Limited']) {
    projects.push((await change(url, 'POST', '/api/projects', cookie, { name })).id ?? '');
  }
  await change(url, 'PATCH', `/api/projects/${projects[1]}`, cookie, { quotaBytes });
  const { key = '' } = await change(url, 'POST', '/api/api-keys', cookie, { name: 'Load', projectId: null });
  return { cookie, apiKey: key, projects, quotaBytes };
}

/**
 * @param {string} url
 * @param {string} method
 * @param {string} path
 * @param {string} cookie
 * @param {object} [body]
 * @returns {Promise<Record<string, string>>}
 */
async function change(url, method, path, cookie, body) {
  const headers = { Cookie: cookie, 'Content-Type': 'application/json' };
  const answer = await fetch(url + path, { method, headers, ...(body ? { body: JSON.stringify(body) } : {}) });
  if (!answer.ok) throw new Error(`${method} ${path} was answered ${answer.status}: ${await answer.text()}`);
  return /** @type {Promise<Record<string, string>>} */ (answer.json());
}

/**
 * @param {Cluster} cluster
 * @param {{ seed: number, retries: boolean }} options
 */
async function startLoad(cluster, { seed, retries }) {
  const account = await openAccount(cluster);
  const { cookie, apiKey, projects } = account;
  const options = {
    url: cluster.url,
    cookie,
    apiKey,
    projects,
    seed,
    retries,
    journeysPerSecond: 10,
    timeoutMilliseconds: 20_000,
  };
  const program = fileURLToPath(new URL('load.mjs', import.meta.url));
  const child = cluster.network.start(cluster.client, process.execPath, [program, JSON.stringify(options)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  /** @type {Operation[]} */
  const history = [];
  if (!child.stdin || !child.stdout) throw new Error('The load has no pipes.');
  const lines = createInterface({ input: child.stdout });
  lines.on('line', (line) => history.push(JSON.parse(line)));
  return {
    account,
    calls: () => history.length,
    /** @param {number} count waits for so many more acknowledged calls */
    untilMore: (count) => {
      const from = history.length;
      return until(`${count} more calls`, async () => {
        if (child.exitCode !== null) throw new Error(`The load ended with ${child.exitCode}.`);
        return history.length >= from + count;
      });
    },
    /** @returns {Promise<Operation[]>} every call, when the last one is over */
    stop: async () => {
      const ended = once(lines, 'close');
      child.stdin?.end('stop\n');
      await ended;
      return history;
    },
  };
}

/**
 * Holds a history against what is there now.
 * @param {Cluster} cluster
 * @param {Account} account
 * @param {Operation[]} history
 * @param {number} [revokedWithinMilliseconds]
 * @returns {Promise<Figure[]>}
 */
async function judge(cluster, account, history, revokedWithinMilliseconds = 1_000) {
  const violations = await findViolations(cluster, account, history, revokedWithinMilliseconds);
  for (const { rule, detail } of violations.slice(0, 20)) console.log(`${rule}: ${detail}`);
  const acknowledged = history.filter(({ operation, outcome }) => operation === 'record' && outcome === 'ok').length;
  const refused = history.filter(({ code }) => code === 'quota_exceeded').length;
  const presigns = history.filter(({ operation, outcome }) => operation === 'presign' && outcome === 'ok');
  const times = presigns.map(({ start, end }) => end - start).sort((a, b) => a - b);
  const repeats = history.reduce((sum, { attempts = 1 }) => sum + attempts - 1, 0);
  console.log(
    `${history.length} calls, ${repeats} repetitions, ${refused} refused by a quota; presign from its planned time: ` +
      `p50 ${milliseconds(times[Math.floor(times.length / 2)])}, p99 ${milliseconds(times[Math.floor(times.length * 0.99)])}`,
  );
  const count = (/** @type {string} */ rule) => violations.filter((violation) => violation.rule === rule);
  return [
    { name: 'files acknowledged', measured: String(acknowledged), bound: 'at least 1', holds: acknowledged > 0 },
    none('of these lost', count('lost'), acknowledged),
    none('doubled', count('doubled')),
    none('never tried, but there', count('ghost')),
    none('listings that went back', count('listing')),
    none('deleted files that came back', count('deletion')),
    none(`revoked keys accepted after ${revokedWithinMilliseconds} ms`, count('revocation')),
    none('quotas exceeded, or usage that is no sum', [...count('quota'), ...count('usage')]),
  ];
}

/**
 * @param {Cluster} cluster
 * @param {Account} account
 * @param {Operation[]} history
 * @param {number} revokedWithinMilliseconds
 */
async function findViolations(cluster, account, history, revokedWithinMilliseconds) {
  const [large = '', limited = ''] = account.projects;
  const finals = [
    await readFinal(cluster, account, large, null),
    await readFinal(cluster, account, limited, account.quotaBytes),
  ];
  return checkHistory(history, finals, { revokedWithinMilliseconds });
}

/**
 * @param {Cluster} cluster
 * @param {Account} account
 * @param {string} projectId
 * @param {number | null} quotaBytes
 * @returns {Promise<FinalState>}
 */
async function readFinal({ url }, { cookie }, projectId, quotaBytes) {
  const headers = { Cookie: cookie };
  const listing = await fetch(`${url}/api/storage/list?projectId=${projectId}`, { headers });
  const { files } = /** @type {Pick<FinalState, 'files'>} */ (await listing.json());
  const usage = await fetch(`${url}/api/storage/usage?projectId=${projectId}`, { headers });
  const { totalBytes, trashedBytes } = /** @type {FinalState} */ (await usage.json());
  /** @type {string[]} */
  const unreadable = [];
  for (const { id, storeKey, fileSize } of files) {
    const signed = await change(url, 'POST', `/api/storage/files/${id}/url`, cookie, {});
    const object = await fetch(signed.url ?? '');
    const bytes = await object.arrayBuffer();
    if (object.status !== 200 || bytes.byteLength !== fileSize) unreadable.push(storeKey);
  }
  return { projectId, quotaBytes, files, totalBytes, trashedBytes, unreadable };
}

/**
 * How long replicas other than the one that revoked a key went on accepting it.
 * @param {Cluster} cluster
 * @param {Account} account
 * @param {import('./cluster.mjs').Replica} revoker
 * @param {number} rounds
 * @param {number} patienceMilliseconds
 * @returns {Promise<number[]>} milliseconds, one for each round: the slowest replica
 */
async function revokeKeys({ replicas }, { cookie, projects }, { url: first }, rounds, patienceMilliseconds) {
  const times = [];
  for (let round = 0; round < rounds; round += 1) {
    const body = { name: `R${round}`, projectId: projects[0] };
    const { id, key = '' } = await change(first, 'POST', '/api/api-keys', cookie, body);
    const use = (/** @type {string} */ url) => ask(url, 'GET', `/api/storage/usage?projectId=${projects[0]}`, key);
    for (const { url } of replicas) {
      const { status } = await use(url);
      if (status !== 200) throw new Error(`A new key was answered ${status}.`);
    }
    await change(first, 'DELETE', `/api/api-keys/${id}`, cookie);
    const revoked = performance.now();
    const ends = replicas.map(async ({ url }) => {
      let accepted = revoked;
      while (performance.now() < revoked + patienceMilliseconds) {
        const sent = performance.now();
        const { status } = await use(url);
        if (status === 401) break;
        if (status === 200) accepted = sent;
        await delay(20);
      }
      return accepted - revoked;
    });
    times.push(Math.max(...(await Promise.all(ends))));
  }
  return times;
}

/**
 * @typedef {{ status: number, code: string, retryAfter: string, milliseconds: number }} Reply
 *   `status` is 0 without an answer within 30 s; `code` is that of the problem document.
 */

/**
 * @param {string} url
 * @param {string} method
 * @param {string} path
 * @param {string} key
 * @param {object} [body]
 * @returns {Promise<Reply>}
 */
async function ask(url, method, path, key, body) {
  const start = performance.now();
  const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' };
  const signal = AbortSignal.timeout(30_000);
  try {
    const answer = await fetch(url + path, {
      method,
      headers,
      signal,
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    const text = await answer.text();
    const isProblem = answer.headers.get('content-type')?.startsWith('application/problem+json');
    const code = isProblem ? String(JSON.parse(text).code) : '';
    const retryAfter = answer.headers.get('retry-after') ?? '';
    return { status: answer.status, code, retryAfter, milliseconds: performance.now() - start };
  } catch {
    return { status: 0, code: '', retryAfter: '', milliseconds: performance.now() - start };
  }
}

/** @param {() => Promise<Reply>} send */
function untilAnswer(send) {
  return until('an answer', async () => (await send()).status === 200);
}

/**
 * Calls that were not done although nothing forbade it.
 * @param {Operation[]} history
 */
function unexpected(history) {
  const revoked = new Map(
    history.flatMap(({ operation, keyId, start }) => (operation === 'revoke' && keyId ? [[keyId, start]] : [])),
  );
  const deleted = new Set(history.flatMap(({ operation, storeKey }) => (operation === 'delete' ? [storeKey] : [])));
  return history.filter(({ operation, outcome, status, code, keyId, storeKey, end }) => {
    if (outcome === 'ok' || code === 'quota_exceeded') return false;
    if (operation === 'use' && status === 401) return end < (revoked.get(keyId ?? '') ?? Number.POSITIVE_INFINITY);
    return !(operation === 'get' && status === 404 && deleted.has(storeKey));
  });
}

/**
 * The longest time without an acknowledged call, in milliseconds.
 * @param {Operation[]} history
 * @param {number} from
 * @param {number} forMilliseconds
 */
function longestGap(history, from, forMilliseconds) {
  const isIn = (/** @type {Operation} */ { end, outcome }) =>
    outcome === 'ok' && end >= from && end <= from + forMilliseconds;
  const ends = [from, ...history.filter(isIn).map(({ end }) => end)].sort((a, b) => a - b);
  return ends.reduce((gap, end, at) => Math.max(gap, end - (ends[at - 1] ?? end)), 0);
}

/**
 * @template Value
 * @param {readonly Value[]} values
 * @param {number} number
 */
function pick(values, number) {
  const value = values[number % values.length];
  if (value === undefined) throw new Error('There is nothing to pick from.');
  return value;
}

/**
 * @param {string} name
 * @param {readonly unknown[]} found
 * @param {number} [among]
 * @returns {Figure}
 */
function none(name, found, among) {
  if (found.length > 0) console.log(`${name}, for example: ${JSON.stringify(found.slice(0, 3))}`);
  const measured = among === undefined ? String(found.length) : `${found.length} of ${among}`;
  return { name, measured, bound: '0', holds: found.length === 0 };
}

/**
 * @param {string} name
 * @param {number} measured
 * @param {number} bound both in milliseconds
 * @returns {Figure}
 */
function atMost(name, measured, bound) {
  const holds = measured <= bound;
  return { name, measured: milliseconds(measured), bound: `at most ${milliseconds(bound)}`, holds, isTime: true };
}

/**
 * @param {string} name
 * @param {Reply[]} replies
 * @returns {Figure}
 */
function nearlyAll(name, replies) {
  const refused = replies.filter(({ status }) => status !== 200);
  if (refused.length > 0) console.log(`${name}: all but, for example, ${JSON.stringify(refused.slice(0, 3))}`);
  const answered = replies.length - refused.length;
  const holds = answered >= replies.length * 0.99 && answered > 0;
  return { name, measured: `${answered} of ${replies.length}`, bound: 'at least 99 %', holds };
}

/** @param {number} [count] */
function milliseconds(count = Number.NaN) {
  return `${Math.round(count)} ms`;
}

/** @param {string} what */
function leftOut(what) {
  console.log(`LEFT OUT: ${what}, because it takes network namespaces.`);
  return [];
}
