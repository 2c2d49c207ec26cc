import { S3Error } from './s3-error.ts';

/**
 * Buckets are not versioned: each object has one version, "null".
 *
 * @throws S3Error InvalidArgument, NoSuchVersion
 */
export function requireNullVersion(versionId: string | undefined): void {
  if (versionId === undefined || versionId === 'null') return;
  if (/^[A-Za-z0-9._-]{32}$/.test(versionId)) {
    throw new S3Error('NoSuchVersion', 'Objects in this store have one version, "null".');
  }
  throw new S3Error('InvalidArgument', 'This is not a version id. Objects in this store have one version, "null".');
}
