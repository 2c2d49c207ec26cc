import { createHash } from 'node:crypto';
import { element, textElement } from './xml.ts';

// All buckets and objects belong to the one key pair. On S3 an owner id is 64 meaningless hexadecimal digits.
export const ownerId = createHash('sha256').update('the owner of this store').digest('hex');

export function ownerElement(): string {
  return element('Owner', [textElement('ID', ownerId), textElement('DisplayName', 'owner')]);
}
