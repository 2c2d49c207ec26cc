import { type Call, requireBucket, sendEmpty, sendXml } from '../protocol/call.ts';
import { S3Error } from '../protocol/s3-error.ts';
import { document, textElement } from '../protocol/xml.ts';

/** A configuration that no bucket of this store has, and how S3 says that there is none. */
interface EmptyConfiguration {
  name: string;
  subresource: string;
  run(call: Call): Promise<void>;
  /** The operation that removes it, if S3 has one. */
  removal?: string;
}

/** What tools ask a bucket for, or remove, before they work with it. None of these can be set. */
export const emptyConfigurations: readonly EmptyConfiguration[] = [
  empty('GetBucketVersioning', 'versioning', 'VersioningConfiguration'),
  empty('GetBucketLogging', 'logging', 'BucketLoggingStatus'),
  empty('GetBucketNotificationConfiguration', 'notification', 'NotificationConfiguration'),
  empty('GetBucketAccelerateConfiguration', 'accelerate', 'AccelerateConfiguration'),
  empty('GetBucketRequestPayment', 'requestPayment', 'RequestPaymentConfiguration', [
    textElement('Payer', 'BucketOwner'),
  ]),
  absent('GetBucketPolicy', 'policy', 'NoSuchBucketPolicy', 'DeleteBucketPolicy'),
  absent('GetBucketLifecycleConfiguration', 'lifecycle', 'NoSuchLifecycleConfiguration', 'DeleteBucketLifecycle'),
  absent('GetBucketTagging', 'tagging', 'NoSuchTagSet', 'DeleteBucketTagging'),
  absent('GetBucketWebsite', 'website', 'NoSuchWebsiteConfiguration', 'DeleteBucketWebsite'),
  absent('GetBucketReplication', 'replication', 'ReplicationConfigurationNotFoundError', 'DeleteBucketReplication'),
  absent(
    'GetBucketEncryption',
    'encryption',
    'ServerSideEncryptionConfigurationNotFoundError',
    'DeleteBucketEncryption',
  ),
  absent('GetObjectLockConfiguration', 'object-lock', 'ObjectLockConfigurationNotFoundError'),
  absent(
    'GetBucketOwnershipControls',
    'ownershipControls',
    'OwnershipControlsNotFoundError',
    'DeleteBucketOwnershipControls',
  ),
  absent(
    'GetPublicAccessBlock',
    'publicAccessBlock',
    'NoSuchPublicAccessBlockConfiguration',
    'DeletePublicAccessBlock',
  ),
];

function empty(name: string, subresource: string, root: string, children: readonly string[] = []): EmptyConfiguration {
  return {
    name,
    subresource,
    run: async (call) => {
      requireBucket(call);
      sendXml(call, document(root, children));
    },
  };
}

function absent(name: string, subresource: string, code: string, removal?: string): EmptyConfiguration {
  return {
    name,
    subresource,
    ...(removal !== undefined && { removal }),
    run: async (call) => {
      requireBucket(call);
      throw new S3Error(code, `Buckets in this store have no "${subresource}" configuration.`, 404);
    },
  };
}

/** DELETE of a configuration that does not exist: 204, as on S3. */
export async function removeNothing(call: Call): Promise<void> {
  requireBucket(call);
  sendEmpty(call, 204);
}
