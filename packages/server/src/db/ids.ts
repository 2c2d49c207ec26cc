/** Before every id: where a walk through rows in the order of their ids begins. */
export const firstId = '00000000-0000-0000-0000-000000000000';

/** The 16 bytes of an id. */
export function toIdBytes(id: string): Buffer {
  return Buffer.from(id.replaceAll('-', ''), 'hex');
}

/** The id with these 16 bytes, as PostgreSQL writes it. */
export function toIdText(bytes: Buffer): string {
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
