/** What the service needs of an object store. Bytes of files never pass through it. */
export interface ObjectStore {
  /** An address that takes one PUT of exactly `sizeBytes` bytes, for the time that the settings give. */
  presignPut(storeKey: string, sizeBytes: number): string;
  /** Size and ETag (without its quotes) of an object, or undefined when there is none. Throws `store_unavailable`. */
  head(storeKey: string): Promise<{ sizeBytes: number; etag: string } | undefined>;
  /** Makes the bucket when there is none. Throws an Error with a sentence for the operator. */
  prepare(): Promise<void>;
  /** Resolves when the store answers for the bucket, and throws `store_unavailable` otherwise. */
  check(): Promise<void>;
  close(): void;
}
