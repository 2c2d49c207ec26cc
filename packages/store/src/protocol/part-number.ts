import { S3Error } from './s3-error.ts';

export const MAX_PART_NUMBER = 10_000;

/** @throws S3Error InvalidArgument */
export function readPartNumber(query: ReadonlyMap<string, string>): number {
  const text = query.get('partNumber') ?? '';
  const partNumber = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  if (partNumber >= 1 && partNumber <= MAX_PART_NUMBER) return partNumber;
  throw new S3Error('InvalidArgument', `partNumber must be a whole number from 1 to ${MAX_PART_NUMBER}.`);
}
