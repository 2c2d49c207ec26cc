import type { Run } from '../command.ts';
import { readTarget } from '../config.ts';
import { connect, usualConcurrency } from '../context.ts';
import { usageFailure } from '../failure.ts';
import { count, readWhole, toSize } from '../format.ts';
import { findFolder, readRemotePath } from '../paths.ts';
import { proofOf } from '../transfer/bytes.ts';
import { toFolder } from '../transfer/export-folder.ts';
import { toBucket } from '../transfer/export-s3.ts';
import type { ExportTarget, Placed } from '../transfer/export-target.ts';
import type { ManifestFile } from '../transfer/manifest.ts';
import { type RemoteTree, readRemoteTree } from '../transfer/remote-tree.ts';
import { addFailure, failIfAny, newReport, sayFailure, sayReport } from '../transfer/report.ts';

export const run: Run<'export'> = async (context, { args: [to = '', from = '/'], options }) => {
  const began = performance.now();
  const { output } = context;
  const isBucket = to.startsWith('s3:');
  if (options.endpoint !== undefined && !isBucket)
    throw usageFailure('--endpoint is of S3, and TARGET does not begin with s3:.');
  const concurrency = readWhole('concurrency', options.concurrency ?? String(usualConcurrency), 1, 64);
  const client = await connect(context, { concurrency });
  const folder = await findFolder(client, readRemotePath(from));
  const tree = await readRemoteTree(client, folder.id);
  const bytes = tree.files.reduce((sum, { file }) => sum + file.fileSize, 0);
  if (options['dry-run']) {
    output.print({ dryRun: true, folders: tree.folders.length, files: tree.files.length, bytes }, '');
    output.say(
      `Would export ${count(tree.folders.length, 'folder')} and ${count(tree.files.length, 'file')}, ${toSize(bytes)}.`,
    );
    return;
  }
  const how = { context, client, concurrency };
  const target = isBucket ? toBucket(to, how, options.endpoint) : toFolder(to, how);
  const files = placeAll(tree);
  const report = newReport();
  await target.transfer(
    files,
    tree.folders.map(({ path }) => path),
    report,
  );
  const failed = new Set(report.failed.map(({ path }) => path));
  const entries: ManifestFile[] = [];
  for (const placed of files.filter(({ at }) => !failed.has(at))) {
    try {
      entries.push(await toEntry(target, placed));
    } catch (error) {
      sayFailure(output, placed.path, addFailure(report, placed.path, error));
    }
  }
  const { url } = await readTarget(context.env);
  const manifest = await target.writeManifest({
    head: {
      kind: 'cadiz-export',
      version: 1,
      service: url,
      projectId: tree.files[0]?.file.projectId ?? null,
      folder: folder.path,
      exportedAt: new Date().toISOString(),
    },
    folders: tree.folders.map(({ path, folder: { createdAt } }) => ({ kind: 'folder', path, createdAt })),
    files: entries,
  });
  output.print({ manifest, ...report }, '');
  sayReport(output, 'Exported', report, began);
  failIfAny(report);
};

async function toEntry(target: ExportTarget, placed: Placed): Promise<ManifestFile> {
  const { path, at, file } = placed;
  const { id, metadata, externalId, createdAt, updatedAt, createdBy, fileSize: size, mimeType: type } = file;
  const proof = proofOf(file);
  const sha256 = proof?.algorithm === 'sha256' ? proof.hex : await target.hash(placed);
  return { kind: 'file', path, at, size, sha256, type, metadata, externalId, id, createdAt, updatedAt, createdBy };
}

/** Gives each file a place of its own: files of one folder may share a name, also with a folder. */
function placeAll({ files, folders }: RemoteTree): Placed[] {
  const taken = new Set(folders.map(({ path }) => path));
  return files.map(({ path, file }) => {
    const at = taken.has(path) ? withId(path, file.id) : path;
    taken.add(at);
    return { path, at, file };
  });
}

/** What a name may have in a project and in most file systems, in UTF-8. */
const longestName = 255;

/** A name that is too long for the id loses its end, at a whole character; the manifest has all of it. */
function withId(path: string, id: string): string {
  const nameAt = path.lastIndexOf('/') + 1;
  const kept = Buffer.from(path.slice(nameAt)).subarray(0, longestName - id.length - 1);
  // Keeps an incomplete character for the next piece, which never comes.
  const name = new TextDecoder('utf-8', { ignoreBOM: true }).decode(kept, { stream: true });
  return `${path.slice(0, nameAt)}${name}.${id}`;
}
