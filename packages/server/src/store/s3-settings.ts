export interface S3Settings {
  /** Where the service reaches the store, such as `http://127.0.0.1:4001`. */
  endpoint: string;
  /** Where clients reach it: presigned addresses start with this. */
  publicEndpoint: string;
  region: string;
  bucket: string;
  accessKeyId: string;
  secretAccessKey: string;
  /** Signs the addresses of uploads instead: a key that may only write makes them useless for anything else. */
  upload?: { accessKeyId: string; secretAccessKey: string } | undefined;
  presignTtlSeconds: number;
}
