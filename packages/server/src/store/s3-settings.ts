export interface S3Settings {
  /** Where the service reaches the store, for example `http://127.0.0.1:4001`. */
  endpoint: string;
  /** Where clients reach the store: presigned addresses start with this. */
  publicEndpoint: string;
  region: string;
  bucket: string;
  accessKeyId: string;
  secretAccessKey: string;
  /** Signs upload addresses instead: a key with write permission only makes them useless for anything else. */
  upload?: { accessKeyId: string; secretAccessKey: string } | undefined;
  presignTtlSeconds: number;
}
