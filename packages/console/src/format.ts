import { now } from './clock.ts';
import { locale, text } from './text/text.ts';

/** Sizes, moments and counts as people read them, in the reader's language and as their region writes it. */

/** By the number of digits after the point; made once, since making one takes longer than drawing a row of a list. */
const numbers = [0, 1, 2].map((digits) => new Intl.NumberFormat(locale, { maximumFractionDigits: digits })) as [
  Intl.NumberFormat,
  Intl.NumberFormat,
  Intl.NumberFormat,
];

const units = ['B', 'KB', 'MB', 'GB', 'TB', 'PB'] as const;

/** Bytes in powers of ten, with three digits: `1.32 GB`. */
export function formatBytes(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 999.5 && unit < units.length - 1) {
    value /= 1000;
    unit++;
  }
  const digits = unit === 0 ? 0 : value < 10 ? 2 : value < 100 ? 1 : 0;
  return `${numbers[digits].format(value)} ${units[unit]}`;
}

const share = new Intl.NumberFormat(locale, { style: 'percent', maximumFractionDigits: 1 });

/** `65 %`, from 0.65. */
export const formatShare = (part: number): string => share.format(part);

/** `12,345` */
export const formatCount = (count: number): string => count.toLocaleString(locale);

const time = new Intl.DateTimeFormat(locale, { hour: '2-digit', minute: '2-digit' });
const day = new Intl.DateTimeFormat(locale, { day: 'numeric', month: 'short' });
const dayAndYear = new Intl.DateTimeFormat(locale, { day: 'numeric', month: 'short', year: 'numeric' });
const exact = new Intl.DateTimeFormat(locale, { dateStyle: 'full', timeStyle: 'long' });
const relative = new Intl.RelativeTimeFormat(locale, { numeric: 'auto' });

/** `19 Nov, 07:48`; with the year when it is another. */
export function formatMoment(iso: string): string {
  const at = new Date(iso);
  const isThisYear = at.getFullYear() === new Date().getFullYear();
  return `${(isThisYear ? day : dayAndYear).format(at)}, ${time.format(at)}`;
}

/** `19 Nov`; with the year when it is another. */
export function formatDay(iso: string): string {
  const at = new Date(iso);
  return (at.getFullYear() === new Date().getFullYear() ? day : dayAndYear).format(at);
}

const second = new Intl.DateTimeFormat(locale, { timeStyle: 'medium' });

/** `07:48:09`. @param at in milliseconds since 1970 */
export const formatTime = (at: number): string => second.format(at);

/** `21:36`, or `30 Nov, 00:12` of another day: the minute by which it is over. @param at in milliseconds since 1970 */
export function formatUntil(at: number): string {
  const minute = new Date(Math.ceil(at / 60_000) * 60_000);
  return minute.toDateString() === new Date().toDateString() ? time.format(minute) : formatMoment(minute.toISOString());
}

/** With the weekday, the seconds and the zone. */
export const formatExactly = (iso: string): string => exact.format(new Date(iso));

/** `2 minutes ago`; after a day, the moment. */
export function formatAgo(iso: string | null): string {
  if (iso === null) return text.common.never;
  const seconds = (new Date(iso).getTime() - now()) / 1000;
  if (Math.abs(seconds) < 60) return relative.format(0, 'second');
  const minutes = Math.round(seconds / 60);
  if (Math.abs(minutes) < 60) return relative.format(minutes, 'minute');
  const hours = Math.round(seconds / 3600);
  if (Math.abs(hours) < 24) return relative.format(hours, 'hour');
  return formatMoment(iso);
}

const durations = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
  ['second', 1],
] as const;

/** Seconds in the largest unit of which there are at least two: `28 hrs`. */
export function formatLeft(seconds: number): string {
  const [unit, size] = durations.find(([, size]) => seconds >= 2 * size) ?? (['second', 1] as const);
  const style = { style: 'unit', unit, unitDisplay: 'short', maximumFractionDigits: 0 } as const;
  return new Intl.NumberFormat(locale, style).format(Math.max(1, seconds / size));
}
