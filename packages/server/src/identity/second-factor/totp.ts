import { Secret, TOTP } from 'otpauth';

/** RFC 6238 as apps expect it. The secret has no structure: its characters are the key. */
function toTotp(secret: string, email = ''): TOTP {
  return new TOTP({
    issuer: 'Cadiz',
    label: email,
    secret: Secret.fromUTF8(secret),
    algorithm: 'SHA1',
    digits: 6,
    period: 30,
  });
}

/** What an app reads from the QR code: `otpauth://totp/…`. */
export function toTotpUri(secret: string, email: string): string {
  return toTotp(secret, email).toString();
}

/**
 * The time step that a code belongs to: the present one, or the one before or after it, for clocks that differ and
 * people who type slowly; undefined for a wrong code.
 * @param now Unix milliseconds
 */
export function findTotpStep(secret: string, code: string, now: number): number | undefined {
  const totp = toTotp(secret);
  const delta = totp.validate({ token: code, timestamp: now, window: 1 });
  return delta === null ? undefined : totp.counter({ timestamp: now }) + delta;
}
