import type { FailureReason, RefusalReason } from './errors.ts';
import type { ImageFacts, Rendered, RenderOptions, Source, Target } from './types.ts';

/** What a child is to do. Without `options`, it looks at the image. */
export interface Task {
  source: Source;
  options: RenderOptions | null;
  /** A folder of the child's own, where it may keep the source. */
  folder: string;
  /** An absolute path; null: no posters of videos are made. */
  ffmpeg: string | null;
  readsSvg: boolean;
  /** The child ends itself rather than use more memory. */
  memoryCeilingBytes: number;
}

/** A task, and the answers to `needs` (`go`, or `no` if there can never be as much) and to `made` (`put`). */
export type ToChild = { kind: 'task'; task: Task } | { kind: 'go' } | { kind: 'no' } | { kind: 'put'; target: Target };

/** How a task ended. */
export type Outcome =
  | { kind: 'looked'; facts: ImageFacts }
  | { kind: 'rendered'; rendered: Rendered }
  | { kind: 'refused'; reason: RefusalReason; message: string }
  | { kind: 'failed'; reason: FailureReason; message: string };

export type FromChild =
  /** It waits until it may use this much memory for the task. */
  | { kind: 'needs'; bytes: number }
  /** It waits for where to put the variant. */
  | { kind: 'made'; size: number; contentType: string }
  | { kind: 'end'; outcome: Outcome; rssBytes: number; peakRssBytes: number };
