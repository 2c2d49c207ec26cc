export interface S3Settings {
  /** Where the service reaches the store, for example `http://127.0.0.1:4001`. */
  endpoint: string;
  /** Where clients reach the store: presigned URLs start with this. */
  publicEndpoint: string;
  region: string;
  bucket: string;
  accessKeyId: string;
  secretAccessKey: string;
  /** Signs upload URLs instead: a key with write permission only makes them useless for anything else. */
  upload?: { accessKeyId: string; secretAccessKey: string } | undefined;
  presignTtlSeconds: number;
}
