import type { Outcome } from './messages.ts';
import type { RenderOptions, Source, Target } from './types.ts';

/** Where a variant goes; called once its size is known, since the URL is signed for it. */
export type MakeTarget = (made: { size: number; contentType: string }) => Target;

/** How a job ended. `thrown`: with what its caller's signal says, or what its target threw. */
export type Result = Outcome | { kind: 'thrown'; error: unknown };

/** One image to look at or to make. */
export interface Job {
  source: Source;
  /** Null for a look. */
  options: RenderOptions | null;
  target: MakeTarget | null;
  /** In milliseconds. */
  timeLeft: number;
  /** Called once. */
  settle(result: Result): void;
}
