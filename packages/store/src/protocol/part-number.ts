import { S3Error } from './s3-error.ts';

export const maxPartNumber = 10_000;

/** @throws S3Error InvalidArgument */
export function readPartNumber(query: ReadonlyMap<string, string>): number {
  const text = query.get('partNumber') ?? '';
  const partNumber = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  if (partNumber >= 1 && partNumber <= maxPartNumber) return partNumber;
  throw new S3Error('InvalidArgument', `partNumber must be a whole number from 1 to ${maxPartNumber}.`);
}
