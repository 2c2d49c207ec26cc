import type { LucideIcon } from 'lucide-react';
import { type ReactNode, useEffect, useState, useSyncExternalStore } from 'react';
import { everyMinute, readMinute } from '../clock.ts';
import { formatAgo, formatExactly, formatTime } from '../format.ts';
import { text } from '../text/text.ts';
import { waitingUntil } from '../waiting.ts';

/** Small parts that many screens use. */

export type Tone = 'ok' | 'warn' | 'bad' | 'live' | '';

export function Badge({ tone = '', icon: Icon, children }: { tone?: Tone; icon?: LucideIcon; children: ReactNode }) {
  return (
    <span className={`badge ${tone}`}>
      {Icon && <Icon className="i" aria-hidden="true" />}
      {children}
    </span>
  );
}

interface MeterProps {
  /** From 0 to 1. */
  share: number;
  label: string;
  /** As a screen reader says it. */
  valueText?: string;
  /** Whether 1 is a limit: it warns from 0.9 on. */
  isLimit?: boolean;
}

/** A bar that is filled by a share. */
export function Meter({ share, label, valueText, isLimit = false }: MeterProps) {
  const percent = Math.max(0, Math.min(100, share * 100));
  const tone = !isLimit || share < 0.9 ? '' : share < 1 ? 'warn' : 'bad';
  return (
    <div
      className={`meter ${tone}`}
      role="progressbar"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={Math.round(percent)}
      aria-valuetext={valueText}
    >
      <span style={{ width: `${percent}%` }} />
    </div>
  );
}

interface MomentProps {
  at: string | null;
  /** What stands where there is none. */
  none?: string;
  className?: string;
  role?: string;
}

/** A moment as people say it, which changes as time goes by; the exact one is its title. */
export function Moment({ at, none, className = '', role }: MomentProps) {
  useSyncExternalStore(everyMinute, readMinute);
  if (at === null) return <span className="quiet">{none ?? formatAgo(null)}</span>;
  return (
    <time className={`num ${className}`} role={role} dateTime={at} title={formatExactly(at)}>
      {formatAgo(at)}
    </time>
  );
}

interface EmptyProps {
  icon: LucideIcon;
  title: string;
  hint?: ReactNode;
  /** The one next thing to do. */
  action?: ReactNode;
  /** Whether something is wrong. */
  isBad?: boolean;
}

/** Where nothing is yet, or nothing was found. */
export function Empty({ icon: Icon, title, hint, action, isBad = false }: EmptyProps) {
  return (
    <div className={`empty ${isBad ? 'is-bad' : ''}`}>
      <Icon className="i" aria-hidden="true" />
      <h2>{title}</h2>
      {hint && <p>{hint}</p>}
      {action}
    </div>
  );
}

/** The first letters of the first and the last word of a name. */
export function Avatar({ name, size = '' }: { name: string; size?: '' | 'l' }) {
  const words = name.trim().split(/\s+/);
  const letters = [words[0], words.length > 1 ? words.at(-1) : ''].map((word) => [...(word ?? '')][0] ?? '').join('');
  return (
    <span className={`avatar ${size}`} aria-hidden="true">
      {letters.toUpperCase()}
    </span>
  );
}

/** After how long it is said that there is no answer yet. */
const slowMilliseconds = 5000;

/** For what is being asked for: says so once the service has not answered for a while, or asks to wait. */
export function StillWorking() {
  const until = useSyncExternalStore(waitingUntil.subscribe, waitingUntil.read);
  const [isSlow, setSlow] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setSlow(true), slowMilliseconds);
    return () => clearTimeout(timer);
  }, []);
  if (!isSlow && until === undefined) return null;
  return (
    <p className="second" role="status">
      {until === undefined ? text.errors.slow : text.errors.goesOn(formatTime(until))}
    </p>
  );
}

/** Bars in the place of rows that are being loaded. */
export function Skeleton({ rows = 6 }: { rows?: number }) {
  return (
    <div className="skeletons">
      {Array.from({ length: rows }, (_, row) => (
        <div className="skel" key={row} />
      ))}
      <StillWorking />
    </div>
  );
}

/** A frame in which a wide or long table is scrolled, also by the keyboard. */
export function ScrollFrame({ label, className, children }: { label: string; className: string; children: ReactNode }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: without the focus, the keyboard cannot scroll it.
    <section className={`panel frame wide-table ${className}`} tabIndex={0} aria-label={label}>
      {children}
    </section>
  );
}
