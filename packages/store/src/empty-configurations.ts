import { type Call, requireBucket, sendXml } from './call.ts';
import { S3Error } from './s3-error.ts';
import { document, textElement } from './xml.ts';

/** A configuration that no bucket of this store has, and how S3 says so. */
interface EmptyConfiguration {
  name: string;
  subresource: string;
  run(call: Call): Promise<void>;
}

/** What tools ask a bucket for before they work with it. None of these can be put. */
export const emptyConfigurations: readonly EmptyConfiguration[] = [
  empty('GetBucketVersioning', 'versioning', 'VersioningConfiguration'),
  empty('GetBucketLogging', 'logging', 'BucketLoggingStatus'),
  empty('GetBucketNotificationConfiguration', 'notification', 'NotificationConfiguration'),
  empty('GetBucketAccelerateConfiguration', 'accelerate', 'AccelerateConfiguration'),
  empty('GetBucketRequestPayment', 'requestPayment', 'RequestPaymentConfiguration', [
    textElement('Payer', 'BucketOwner'),
  ]),
  absent('GetBucketPolicy', 'policy', 'NoSuchBucketPolicy'),
  absent('GetBucketLifecycleConfiguration', 'lifecycle', 'NoSuchLifecycleConfiguration'),
  absent('GetBucketTagging', 'tagging', 'NoSuchTagSet'),
  absent('GetBucketWebsite', 'website', 'NoSuchWebsiteConfiguration'),
  absent('GetBucketReplication', 'replication', 'ReplicationConfigurationNotFoundError'),
  absent('GetBucketEncryption', 'encryption', 'ServerSideEncryptionConfigurationNotFoundError'),
  absent('GetObjectLockConfiguration', 'object-lock', 'ObjectLockConfigurationNotFoundError'),
  absent('GetBucketOwnershipControls', 'ownershipControls', 'OwnershipControlsNotFoundError'),
  absent('GetPublicAccessBlock', 'publicAccessBlock', 'NoSuchPublicAccessBlockConfiguration'),
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

function absent(name: string, subresource: string, code: string): EmptyConfiguration {
  return {
    name,
    subresource,
    run: async (call) => {
      requireBucket(call);
      throw new S3Error(code, `No bucket of this store has a configuration "${subresource}".`, 404);
    },
  };
}
