import { createHmac } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';

const stepMilliseconds = 30_000;

/** The secret that an app reads from the address in the QR code. */
export function readSecret(totpUri: string): Buffer {
  return fromBase32(new URL(totpUri).searchParams.get('secret') ?? '');
}

/** RFC 4648 §6 */
function fromBase32(text: string): Buffer {
  const bits = [...text].map((letter) =>
    'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(letter).toString(2).padStart(5, '0'),
  );
  const bytes = bits.join('').match(/.{8}/g) ?? [];
  return Buffer.from(bytes.map((byte) => Number.parseInt(byte, 2)));
}

/** The code that an app shows, by RFC 6238. @param ahead in steps @param now Unix milliseconds */
export function totp(secret: Buffer, ahead = 0, now = Date.now()): string {
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(now / stepMilliseconds) + ahead));
  const digest = createHmac('sha1', secret).update(counter).digest();
  const offset = (digest[19] ?? 0) & 15;
  return String((digest.readUInt32BE(offset) & 0x7fffffff) % 1e6).padStart(6, '0');
}

/** Waits until the previous step's code will stay valid for a while: it does until this step ends. */
export async function awaitEarlyStep(): Promise<void> {
  const left = stepMilliseconds - (Date.now() % stepMilliseconds);
  // A timer can be a millisecond early, and would end in the step that is over by the time the code arrives.
  if (left < 5_000) await delay(left + 10);
}
