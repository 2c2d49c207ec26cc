import { createStore } from '../../store.ts';

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

/** The question to be answered now. */
export const question = createStore<Question | undefined>(undefined);

const waiting: Question[] = [];
let asked = 0;

/** Resolves with the answer, once earlier questions have theirs; undefined cancels the upload. */
export function ask(conflict: Conflict): Promise<Decision | undefined> {
  return new Promise((resolve) => {
    const one: Question = {
      serial: ++asked,
      conflict,
      answer(decision) {
        waiting.splice(waiting.indexOf(one), 1);
        resolve(decision);
        question.set(waiting[0]);
      },
    };
    waiting.push(one);
    question.set(waiting[0]);
  });
}
