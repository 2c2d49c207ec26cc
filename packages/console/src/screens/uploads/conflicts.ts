/** The question that is asked when a name is taken. One at a time. */

export interface Version {
  /** In bytes. */
  size: number;
  /** When it was added or changed. */
  at?: string | number | undefined;
  /** What it shows, if it is a picture: its bytes, or where they may be, the best first. */
  picture?: Blob | readonly string[] | undefined;
}

export interface Conflict {
  name: string;
  mine: Version;
  theirs: Version;
  /** What it would be called beside the other. */
  freeName: string;
  folderName: string;
  /** How many more are to be asked about, and how many files there are in all. */
  others: number;
  count: number;
}

export interface Decision {
  how: 'keep' | 'replace' | 'skip';
  /** Whether it holds for all others as well, without asking. */
  isForAll: boolean;
}

/** A question, and what takes its answer; undefined cancels the upload. */
export interface Question {
  /** Its number, since the page was opened. */
  serial: number;
  conflict: Conflict;
  answer(decision: Decision | undefined): void;
}

const waiting: Question[] = [];
let asked = 0;
const listeners = new Set<() => void>();

function tell(): void {
  for (const listener of listeners) listener();
}

/** Resolves with the answer, once earlier questions have theirs; undefined cancels the upload. */
export function ask(conflict: Conflict): Promise<Decision | undefined> {
  return new Promise((resolve) => {
    const question: Question = {
      serial: ++asked,
      conflict,
      answer(decision) {
        waiting.splice(waiting.indexOf(question), 1);
        resolve(decision);
        tell();
      },
    };
    waiting.push(question);
    tell();
  });
}

/** The question to be answered now. */
export const readQuestion = (): Question | undefined => waiting[0];

export function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
