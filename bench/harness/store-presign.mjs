// @ts-check
import { join } from 'node:path';
import autocannon from 'autocannon';
import { connections, quick, toSpread } from './compare.mjs';
import { post, signUp, startService } from './service.mjs';
import { rounds, timed } from './store-servers.mjs';
import { temporaryFolder } from './temporary-folder.mjs';

const seconds = quick ? 1 : 4;
const uploadMegabytes = 200;
const uploaders = 2;

/** Presigns of the service while files are uploaded to its own store, and while it is otherwise idle. */
export async function benchPresign() {
  console.log(`\n## Presigns while ${uploaders} uploads run`);
  const folder = await temporaryFolder();
  const service = await startService({ name: 'embedded', dataDir: await temporaryFolder() });
  const { projectIds, authorization } = await signUp(service.url, ['Bench']);
  const headers = { 'content-type': 'application/json', authorization };
  const source = join(folder, 'video');
  await timed('truncate', ['-s', `${uploadMegabytes}M`, source]);
  const file = { projectId: projectIds[0], fileName: 'video.mp4', mimeType: 'video/mp4', folderId: null };
  const wanted = { ...file, fileSize: uploadMegabytes * 1024 * 1024 };

  const presign = async () => {
    const result = await autocannon({
      url: `${service.url}/api/storage/presign`,
      connections,
      duration: seconds,
      method: 'POST',
      headers,
      body: JSON.stringify(wanted),
    });
    if (result.errors + result.non2xx > 0) throw new Error(`presign: ${result.non2xx} refused`);
    return { rate: result.requests.average, p99: result.latency.p99 };
  };
  let uploaded = 0;
  const whileUploading = async () => {
    let going = true;
    const uploads = Array.from({ length: uploaders }, async () => {
      while (going) {
        const { presignedUrl } = await post(`${service.url}/api/storage/presign`, wanted, { authorization });
        await timed('curl', ['-fsS', '-o', '/dev/null', '-H', 'Content-Type: video/mp4', '-T', source, presignedUrl]);
        uploaded += 1;
      }
    });
    const figures = await presign();
    going = false;
    await Promise.all(uploads);
    return figures;
  };

  await presign();
  /** @type {Awaited<ReturnType<typeof presign>>[]} */
  const idle = [];
  /** @type {Awaited<ReturnType<typeof presign>>[]} */
  const busy = [];
  for (let round = 0; round < rounds; round += 1) {
    idle.push(await presign());
    busy.push(await whileUploading());
  }
  const rate = busy.map((figures, round) => figures.rate / (idle[round]?.rate ?? 0));
  const p99 = (/** @type {Awaited<ReturnType<typeof presign>>[]} */ of) =>
    toSpread(
      of.map((figures) => figures.p99),
      0,
    );
  console.log(`  rate of idle: ${toSpread(rate)}; p99 ${p99(idle)} ms idle, ${p99(busy)} ms busy`);
  console.log(
    `  ${uploaded} uploads of ${uploadMegabytes} MiB; generator, curl and store share the cores with the service`,
  );
}
