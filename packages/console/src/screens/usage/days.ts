import type { Answer } from '@cadiz/contract';
import { queryOptions } from '@tanstack/react-query';
import { call } from '../../api.ts';
import { now } from '../../clock.ts';
import { locale } from '../../text/text.ts';

/** How many days are looked at. */
export const periods = [7, 30, 90, 365] as const;
export type Period = (typeof periods)[number];

type Counted = Answer<'dailyUsage'>['days'][number];
export type Figures = Omit<Counted, 'day'>;

export interface Day {
  /** The UTC day, as `2026-11-21`. */
  day: string;
  /** Null for a day that the service did not count yet. */
  figures: Figures | null;
}

const dayMilliseconds = 24 * 3600 * 1000;
const nothing: Figures = { files: 0, bytes: 0, trashedBytes: 0, uploads: 0, addedBytes: 0 };

const toDay = (milliseconds: number): string => new Date(milliseconds).toISOString().slice(0, 10);

/**
 * Every day of a period that ends with the last counted day. Before the project was created, nothing was in it; later
 * days without figures are those before the service counted days.
 * @param createdAt when the project was created
 */
export function fillDays(counted: readonly Counted[], period: Period, createdAt: string): Day[] {
  const last = Date.parse(counted.at(-1)?.day ?? toDay(now()));
  const byDay = new Map(counted.map(({ day, ...figures }) => [day, figures]));
  return Array.from({ length: period }, (_, index) => {
    const day = toDay(last - (period - 1 - index) * dayMilliseconds);
    return { day, figures: byDay.get(day) ?? (day < createdAt.slice(0, 10) ? nothing : null) };
  });
}

/** What was counted for the days of a period, the earliest first. */
export const dailyQuery = (projectId: string, period: Period) =>
  queryOptions({
    queryKey: ['usage', projectId, 'daily', period],
    queryFn: async () => {
      const from = toDay(now() - (period - 1) * dayMilliseconds);
      return (await call('dailyUsage', { projectId, from })).days;
    },
  });

const short = new Intl.DateTimeFormat(locale, { day: 'numeric', month: 'short', timeZone: 'UTC' });
const long = new Intl.DateTimeFormat(locale, { day: 'numeric', month: 'short', year: 'numeric', timeZone: 'UTC' });

/** A UTC day as `21 Nov`, or `21 Nov 2026`. */
export const formatUtcDay = (day: string, withYear = false): string =>
  (withYear ? long : short).format(new Date(`${day}T00:00:00Z`));
