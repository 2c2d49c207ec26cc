interface Request {
  method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE';
  /** Of an object; without one, the request is for its bucket. */
  key?: string;
  query?: Record<string, string>;
  headers?: Record<string, string>;
}

/**
 * The name that S3 has for a request, such as `HeadObject`.
 * @see https://docs.aws.amazon.com/AmazonS3/latest/API/API_Operations_Amazon_Simple_Storage_Service.html
 */
export function toS3Operation({ method, key, query = {}, headers = {} }: Request): string {
  if (key === undefined) return ofBucket(method, query);
  const isOfUpload = 'uploadId' in query;
  switch (method) {
    case 'HEAD':
      return 'HeadObject';
    case 'GET':
      return isOfUpload ? 'ListParts' : 'GetObject';
    case 'DELETE':
      return isOfUpload ? 'AbortMultipartUpload' : 'DeleteObject';
    case 'POST':
      return isOfUpload ? 'CompleteMultipartUpload' : 'CreateMultipartUpload';
    case 'PUT': {
      const isCopy = 'x-amz-copy-source' in headers;
      if (isOfUpload) return isCopy ? 'UploadPartCopy' : 'UploadPart';
      return isCopy ? 'CopyObject' : 'PutObject';
    }
  }
}

function ofBucket(method: Request['method'], query: Record<string, string>): string {
  if (method === 'HEAD') return 'HeadBucket';
  if (method === 'POST') return 'DeleteObjects';
  if (method === 'PUT') return 'CreateBucket';
  return 'uploads' in query ? 'ListMultipartUploads' : 'ListObjectsV2';
}
