import { createHmac } from 'node:crypto';

const stepSeconds = 30;

/**
 * The step of time (RFC 6238) that a code belongs to: this one, or the one before or after it, for clocks that differ
 * and people who type slowly; undefined for a wrong code.
 * @param now Unix milliseconds
 */
export function findTotpStep(secret: string, code: string, now: number): number | undefined {
  const current = Math.floor(now / 1000 / stepSeconds);
  return [current, current - 1, current + 1].find((step) => toCode(secret, step) === code);
}

/** RFC 4226 §5.3. The secret has no structure: its characters are the key. */
function toCode(secret: string, step: number): string {
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(step));
  const digest = createHmac('sha1', secret).update(counter).digest();
  const offset = (digest.at(-1) ?? 0) & 0xf;
  return String((digest.readUInt32BE(offset) & 0x7fff_ffff) % 1_000_000).padStart(6, '0');
}
