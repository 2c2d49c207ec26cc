import { abortMultipartUpload } from '../operations/abort-multipart-upload.ts';
import { completeMultipartUpload } from '../operations/complete-multipart-upload.ts';
import { copyObject } from '../operations/copy-object.ts';
import { createBucket } from '../operations/create-bucket.ts';
import { createMultipartUpload } from '../operations/create-multipart-upload.ts';
import { deleteBucket } from '../operations/delete-bucket.ts';
import { deleteBucketCors } from '../operations/delete-bucket-cors.ts';
import { deleteObject } from '../operations/delete-object.ts';
import { deleteObjectTagging } from '../operations/delete-object-tagging.ts';
import { deleteObjects } from '../operations/delete-objects.ts';
import { emptyConfigurations, removeNothing } from '../operations/empty-configurations.ts';
import { getBucketAcl } from '../operations/get-bucket-acl.ts';
import { getBucketCors } from '../operations/get-bucket-cors.ts';
import { getBucketLocation } from '../operations/get-bucket-location.ts';
import { getObject } from '../operations/get-object.ts';
import { getObjectAcl } from '../operations/get-object-acl.ts';
import { getObjectAttributes } from '../operations/get-object-attributes.ts';
import { getObjectTagging } from '../operations/get-object-tagging.ts';
import { headBucket } from '../operations/head-bucket.ts';
import { headObject } from '../operations/head-object.ts';
import { listBuckets } from '../operations/list-buckets.ts';
import { listMultipartUploads } from '../operations/list-multipart-uploads.ts';
import { listObjectVersions } from '../operations/list-object-versions.ts';
import { listObjects } from '../operations/list-objects.ts';
import { listObjectsV2 } from '../operations/list-objects-v2.ts';
import { optionalAttributes } from '../operations/list-page.ts';
import { listParts } from '../operations/list-parts.ts';
import { putBucketAcl } from '../operations/put-bucket-acl.ts';
import { putBucketCors } from '../operations/put-bucket-cors.ts';
import { putObject } from '../operations/put-object.ts';
import { putObjectAcl } from '../operations/put-object-acl.ts';
import { uploadPart } from '../operations/upload-part.ts';
import { uploadPartCopy } from '../operations/upload-part-copy.ts';
import { isHarmlessAcl } from '../protocol/acl.ts';
import { chunkedHeaders } from '../protocol/aws-chunked.ts';
import type { Call } from '../protocol/call.ts';
import { checksumHeaders, requireComputable } from '../protocol/checksum-header.ts';
import { commonHeaders, expectedSourceOwner, requireExpectations } from '../protocol/common-headers.ts';
import { completionChecksumHeaders, uploadChecksumHeaders } from '../protocol/multipart-checksum.ts';
import { responseOverrides } from '../protocol/object-answer.ts';
import { documentHeaders } from '../protocol/request-body.ts';
import { notImplemented, S3Error } from '../protocol/s3-error.ts';

export interface Operation {
  name: string;
  run(call: Call): Promise<void>;
  /** Query parameters it understands, besides those of the signature. */
  query: readonly string[];
  /**
   * `x-amz-*` headers it understands, besides those common to all; `x-amz-meta-` stands for every header that
   * starts with it.
   */
  amzHeaders: readonly string[];
  /**
   * Query parameters and `x-amz-*` headers that tell it from other operations with the same method; all must be
   * present.
   */
  marks?: readonly string[];
}

/** The operations of a method. The first one whose marks are all present is used, so one without marks comes last. */
type Operations = Readonly<Record<string, readonly Operation[]>>;

const reading = ['x-amz-checksum-mode'];
const choosing = ['versionId', 'partNumber'];
/** HEAD answers as GET does, so it takes the same overrides. */
const served = [...responseOverrides.keys(), ...choosing];
const writing = ['x-amz-storage-class', 'x-amz-meta-'];
/** Headers that guard and frame the bytes of an object. */
const receiving = [...checksumHeaders, ...chunkedHeaders];
const copying = [
  'x-amz-copy-source-if-match',
  'x-amz-copy-source-if-none-match',
  'x-amz-copy-source-if-modified-since',
  'x-amz-copy-source-if-unmodified-since',
  expectedSourceOwner,
];
// Nothing is retained here. S3 itself refuses the header if a bucket has no Object Lock; clean-up tools send it anyway.
const removing = ['x-amz-bypass-governance-retention'];
const listingUploads = ['prefix', 'delimiter', 'key-marker', 'upload-id-marker', 'max-uploads', 'encoding-type'];
const listing = ['prefix', 'delimiter', 'max-keys', 'encoding-type'];
/** Headers of a listing. */
const describing = [optionalAttributes];

/** Every operation, by level and method. */
const serviceOperations: Operations = {
  GET: [
    {
      name: 'ListBuckets',
      run: listBuckets,
      query: ['prefix', 'bucket-region', 'max-buckets', 'continuation-token'],
      amzHeaders: [],
    },
  ],
};
const bucketOperations: Operations = {
  GET: [
    {
      name: 'ListMultipartUploads',
      run: listMultipartUploads,
      marks: ['uploads'],
      query: listingUploads,
      amzHeaders: [],
    },
    { name: 'GetBucketAcl', run: getBucketAcl, marks: ['acl'], query: [], amzHeaders: [] },
    { name: 'GetBucketCors', run: getBucketCors, marks: ['cors'], query: [], amzHeaders: [] },
    { name: 'GetBucketLocation', run: getBucketLocation, marks: ['location'], query: [], amzHeaders: [] },
    ...emptyConfigurations.map(({ name, subresource, run }) => {
      return { name, run, marks: [subresource], query: [], amzHeaders: [] };
    }),
    {
      name: 'ListObjectVersions',
      run: listObjectVersions,
      marks: ['versions'],
      query: [...listing, 'key-marker', 'version-id-marker'],
      amzHeaders: describing,
    },
    {
      name: 'ListObjectsV2',
      run: listObjectsV2,
      marks: ['list-type'],
      // MinIO's clients ask for `metadata`, an extension of MinIO that S3 ignores.
      query: [...listing, 'start-after', 'continuation-token', 'fetch-owner', 'metadata'],
      amzHeaders: describing,
    },
    { name: 'ListObjects', run: listObjects, query: [...listing, 'marker'], amzHeaders: describing },
  ],
  HEAD: [{ name: 'HeadBucket', run: headBucket, query: [], amzHeaders: [] }],
  PUT: [
    { name: 'PutBucketAcl', run: putBucketAcl, marks: ['acl'], query: [], amzHeaders: documentHeaders },
    { name: 'PutBucketCors', run: putBucketCors, marks: ['cors'], query: [], amzHeaders: documentHeaders },
    { name: 'CreateBucket', run: createBucket, query: [], amzHeaders: [] },
  ],
  POST: [
    {
      name: 'DeleteObjects',
      run: deleteObjects,
      marks: ['delete'],
      query: [],
      amzHeaders: [...documentHeaders, ...removing],
    },
  ],
  DELETE: [
    { name: 'DeleteBucketCors', run: deleteBucketCors, marks: ['cors'], query: [], amzHeaders: [] },
    ...emptyConfigurations.flatMap(({ subresource, removal: name }) =>
      name === undefined ? [] : [{ name, run: removeNothing, marks: [subresource], query: [], amzHeaders: [] }],
    ),
    { name: 'DeleteBucket', run: deleteBucket, query: [], amzHeaders: [] },
  ],
};
const objectOperations: Operations = {
  GET: [
    {
      name: 'ListParts',
      run: listParts,
      marks: ['uploadId'],
      query: ['max-parts', 'part-number-marker'],
      amzHeaders: [],
    },
    { name: 'GetObjectAcl', run: getObjectAcl, marks: ['acl'], query: ['versionId'], amzHeaders: [] },
    {
      name: 'GetObjectAttributes',
      run: getObjectAttributes,
      marks: ['attributes'],
      query: ['versionId'],
      amzHeaders: ['x-amz-object-attributes', 'x-amz-max-parts', 'x-amz-part-number-marker'],
    },
    { name: 'GetObjectTagging', run: getObjectTagging, marks: ['tagging'], query: ['versionId'], amzHeaders: [] },
    {
      name: 'GetObject',
      run: getObject,
      query: served,
      amzHeaders: reading,
    },
  ],
  HEAD: [{ name: 'HeadObject', run: headObject, query: served, amzHeaders: reading }],
  PUT: [
    {
      name: 'UploadPartCopy',
      run: uploadPartCopy,
      marks: ['uploadId', 'x-amz-copy-source'],
      query: ['partNumber'],
      amzHeaders: [...copying, 'x-amz-copy-source-range'],
    },
    {
      name: 'UploadPart',
      run: uploadPart,
      marks: ['uploadId'],
      query: ['partNumber'],
      amzHeaders: receiving,
    },
    {
      name: 'CopyObject',
      run: copyObject,
      marks: ['x-amz-copy-source'],
      query: [],
      // Objects have no tags, so what should happen to them makes no difference.
      amzHeaders: [
        ...copying,
        'x-amz-metadata-directive',
        'x-amz-tagging-directive',
        'x-amz-checksum-algorithm',
        ...writing,
      ],
    },
    { name: 'PutObjectAcl', run: putObjectAcl, marks: ['acl'], query: ['versionId'], amzHeaders: documentHeaders },
    {
      name: 'PutObject',
      run: putObject,
      // Bun presigns uploads with them. The answer has none of the headers that they would override.
      query: [...responseOverrides.keys()],
      amzHeaders: [...writing, ...receiving],
    },
  ],
  POST: [
    {
      name: 'CreateMultipartUpload',
      run: createMultipartUpload,
      marks: ['uploads'],
      query: [],
      amzHeaders: [...writing, ...uploadChecksumHeaders],
    },
    {
      name: 'CompleteMultipartUpload',
      run: completeMultipartUpload,
      marks: ['uploadId'],
      query: [],
      amzHeaders: [...completionChecksumHeaders, 'x-amz-mp-object-size'],
    },
  ],
  DELETE: [
    { name: 'AbortMultipartUpload', run: abortMultipartUpload, marks: ['uploadId'], query: [], amzHeaders: [] },
    {
      name: 'DeleteObjectTagging',
      run: deleteObjectTagging,
      marks: ['tagging'],
      query: ['versionId'],
      amzHeaders: [],
    },
    { name: 'DeleteObject', run: deleteObject, query: ['versionId'], amzHeaders: removing },
  ],
};

/** All operations, for tests and checks that must not miss one. */
export const allOperations = Object.entries({
  service: serviceOperations,
  bucket: bucketOperations,
  object: objectOperations,
}).flatMap(([level, methods]) =>
  Object.entries(methods).flatMap(([method, operations]) =>
    operations.map((operation) => ({ level, method, ...operation })),
  ),
);

/** What a client adds for the logs of S3, which ignores it otherwise ("Custom access log information"). */
const forLogs = /^x-(?!amz-|id$)/;
/** There is only one. Apache Libcloud names it in the query, the AWS SDK for C++ in a header. */
const apiVersion = '2006-03-01';
const everywhere = ['x-amz-api-version', 'x-amz-content-sha256', 'x-amz-date', 'x-amz-user-agent', ...commonHeaders];

/** @throws S3Error NotImplemented */
export function findOperation(method: string, { bucket, key, headers, query }: Call): Operation {
  const level = levelOf(bucket, key);
  const isThere = (mark: string) => (mark.startsWith('x-amz-') ? headers[mark] !== undefined : query.has(mark));
  const operation = level.operations[method]?.find(({ marks = [] }) => marks.every(isThere));
  if (!operation) throw notImplemented(`${method} ${level.where}`);
  return operation;
}

function levelOf(bucket: string, key: string): { operations: Operations; where: string } {
  if (key !== '') return { operations: objectOperations, where: 'on an object' };
  if (bucket !== '') return { operations: bucketOperations, where: 'on a bucket' };
  return { operations: serviceOperations, where: 'without a bucket in the path' };
}

/**
 * Refuses a request that asks for more than the operation does. Ignoring a sub-resource (`?acl`, `?uploadId`) or a
 * header (`x-amz-copy-source`) would turn the request into a different one.
 *
 * @throws S3Error NotImplemented, AccessControlListNotSupported, AccessDenied, InvalidArgument
 */
export function requireUnderstood(operation: Operation, method: string, { headers, query, verified }: Call): void {
  if (verified.payloadHash.startsWith('STREAMING-') && !operation.amzHeaders.includes('x-amz-trailer')) {
    throw new S3Error('InvalidRequest', `${operation.name} takes no aws-chunked body: send the bytes as they are.`);
  }
  for (const [name, value] of query) {
    if (operation.query.includes(name) || operation.marks?.includes(name)) continue;
    if (name === 'x-id' && value === operation.name) continue;
    if (name === 'Version' && value === apiVersion) continue;
    if (forLogs.test(name)) continue;
    throw notImplemented(`${operation.marks ? operation.name : method} with the query parameter "${name}"`);
  }
  for (const [name, value] of Object.entries(headers)) {
    if (!name.startsWith('x-amz-') || everywhere.includes(name) || operation.marks?.includes(name)) continue;
    if (operation.amzHeaders.some((known) => (known.endsWith('-') ? name.startsWith(known) : name === known))) continue;
    if (isHarmlessAcl(name, String(value))) continue;
    requireComputable(name);
    throw notImplemented(`${operation.name} with ${name}`);
  }
  requireExpectations(headers);
}
