import { usageFailure } from './failure.ts';

const units = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'];

/** `1234567` as `1.23 MB`: powers of a thousand, three digits. */
export function toSize(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 999.5 && unit < units.length - 1) {
    value /= 1000;
    unit++;
  }
  const digits = unit === 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  return `${value.toFixed(digits)} ${units[unit]}`;
}

/** `3725` seconds as `1 h 2 min`. */
export function toDuration(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  if (whole < 60) return `${whole} s`;
  const minutes = Math.floor(whole / 60);
  if (minutes < 60) return `${minutes} min ${whole % 60} s`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

/** `2026-08-01T12:00:00.000Z` as `2026-08-01 12:00`. */
export const toMinute = (time: string): string => time.slice(0, 16).replace('T', ' ');

/** `2026-08-01T12:00:59.000Z` as `2026-08-01 12:00:59`. */
export const toSecond = (time: string): string => time.slice(0, 19).replace('T', ' ');

/** `1 file`, `2 files`. */
export const count = (amount: number, noun: string): string => `${amount} ${noun}${amount === 1 ? '' : 's'}`;

const secondsOf: Record<string, number> = { s: 1, m: 60, h: 3600, d: 86_400, w: 604_800 };

/** `90s`, `15m`, `1h`, `7d`, `2w` as seconds. @throws Failure */
export function readDuration(option: string, text: string): number {
  const [, amount, unit] = /^(\d{1,9})([smhdw])$/.exec(text) ?? [];
  const seconds = Number(amount) * (secondsOf[unit ?? ''] ?? Number.NaN);
  if (seconds > 0) return seconds;
  throw usageFailure(`--${option} ${text} must be a time such as 90s, 15m, 1h, 7d or 2w.`);
}

/** When a time such as `30d` from now is over, in ISO 8601. @throws Failure */
export function readEnd(option: string, text: string): string {
  const end = new Date(Date.now() + readDuration(option, text) * 1000);
  if (end.getTime() < Date.UTC(10_000, 0)) return end.toISOString();
  throw usageFailure(`--${option} ${text} is too far ahead: it must end before the year 10000.`);
}

const bytesOf: Record<string, number> = {
  '': 1,
  k: 1e3,
  m: 1e6,
  g: 1e9,
  t: 1e12,
  ki: 2 ** 10,
  mi: 2 ** 20,
  gi: 2 ** 30,
  ti: 2 ** 40,
};

/** `500`, `10MB`, `2GiB` as bytes. @throws Failure */
export function readSize(option: string, text: string): number {
  const [, amount, unit = ''] = /^(\d+(?:\.\d+)?)\s*((?:[kmgt]i?)?)b?$/i.exec(text) ?? [];
  const bytes = Math.round(Number(amount) * (bytesOf[unit.toLowerCase()] ?? Number.NaN));
  if (Number.isSafeInteger(bytes)) return bytes;
  throw usageFailure(`--${option} ${text} must be a size such as 500, 10MB or 2GiB.`);
}

/** @throws Failure */
export function readWhole(option: string, text: string, least: number, most: number): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= least && value <= most) return value;
  throw usageFailure(`--${option} ${text} must be a whole number from ${least} to ${most}.`);
}
