// @ts-check
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { quick, toSpread } from './compare.mjs';
import { bucket, rounds, startNginx, startStore, timed } from './store-servers.mjs';
import { temporaryFolder } from './temporary-folder.mjs';

const megabytes = quick ? 256 : 1024;

/**
 * One PUT, without a checksum and with each of two, compared with cp and sync of the copy; one GET compared with nginx, which
 * sends the same file with sendfile; all with curl.
 */
export async function benchLargeObjects() {
  console.log(`\n## One object of ${megabytes} MiB`);
  const folder = await temporaryFolder();
  const source = join(folder, 'source');
  await timed('sh', ['-c', `head -c ${megabytes}M /dev/urandom >"$0" && sync "$0"`, source]);
  const store = await startStore();
  const nginx = await startNginx(folder);
  const curl = (/** @type {string[]} */ ...args) => timed('curl', ['-fsS', '-o', '/dev/null', ...args]);
  const putChecked = async (/** @type {'sha256' | 'crc32'} */ name) => {
    const headers = { [`x-amz-checksum-${name}`]: checksums[name] };
    const at = { bucket, key: 'large', expiresInSeconds: 3600, now: Date.now() };
    const url = store.presign({ method: 'PUT', ...at, headers });
    return curl('-H', `x-amz-checksum-${name}: ${checksums[name]}`, '-T', source, url);
  };
  const checksums = await readChecksums(source);
  const sides = {
    'cp + sync': () => timed('sh', ['-c', 'cp "$0" "$0.copy" && sync "$0.copy"', source]),
    'store PUT': () => curl('-T', source, store.url('PUT', 'large')),
    'store PUT, SHA-256': () => putChecked('sha256'),
    'store PUT, CRC32': () => putChecked('crc32'),
    'store GET': () => curl(store.url('GET', 'large')),
    ...(nginx ? { 'nginx GET': () => curl(nginx.url('GET', 'source')) } : {}),
  };
  /** @type {Record<string, number[]>} */
  const seconds = {};
  for (let round = -1; round < rounds; round += 1) {
    for (const [name, run] of Object.entries(sides)) {
      const took = await run();
      if (round >= 0) seconds[name] = [...(seconds[name] ?? []), took];
      await rm(`${source}.copy`, { force: true });
    }
  }
  for (const [name, took] of Object.entries(seconds)) {
    console.log(
      `  ${name}: ${toSpread(
        took.map((value) => megabytes / value),
        0,
      )} MiB/s`,
    );
  }
  const base = seconds['cp + sync'];
  tellRatio('PUT of cp + sync', base, seconds['store PUT']);
  tellRatio('PUT with a SHA-256 of cp + sync', base, seconds['store PUT, SHA-256'], 0.6);
  tellRatio('PUT with a CRC32 of cp + sync', base, seconds['store PUT, CRC32'], 0.6);
  tellRatio('GET of nginx', seconds['nginx GET'], seconds['store GET']);
}

/** @param {string} path of the bytes to be sent */
async function readChecksums(path) {
  const sha256 = createHash('sha256');
  let crc = 0;
  for await (const chunk of createReadStream(path, { highWaterMark: 1024 * 1024 })) {
    sha256.update(chunk);
    crc = crc32(chunk, crc);
  }
  const crcBytes = Buffer.alloc(4);
  crcBytes.writeUInt32BE(crc);
  return { sha256: sha256.digest('base64'), crc32: crcBytes.toString('base64') };
}

/**
 * @param {string} title
 * @param {number[] | undefined} base seconds
 * @param {number[] | undefined} own
 * @param {number} [target]
 */
function tellRatio(title, base, own, target = 0.5) {
  if (!base || !own) return;
  console.log(`  ${title}: ${toSpread(own.map((took, round) => (base[round] ?? 0) / took))}, the target is ${target}`);
}
