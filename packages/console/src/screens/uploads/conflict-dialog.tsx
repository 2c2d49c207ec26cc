import { useRef, useState } from 'react';
import { Button } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { Check } from '../../components/field.tsx';
import { formatBytes, formatMoment } from '../../format.ts';
import { text } from '../../text/text.ts';
import type { Conflict, Decision, Question } from './conflicts.ts';

const ways = ['keep', 'replace', 'skip'] as const;

/** Asks what becomes of a file whose name is taken. It is mounted anew for each question. */
export function ConflictDialog({ question: { conflict, answer } }: { question: Question }) {
  const { name, mine, theirs, folderName, others, count } = conflict;
  const [how, setHow] = useState<Decision['how']>('keep');
  const [isForAll, setForAll] = useState(false);
  const first = useRef<HTMLInputElement>(null);
  const { uploads: words } = text;
  return (
    <Dialog
      open
      width="w"
      initialFocus={first}
      onClose={() => answer(undefined)}
      title={words.taken(name)}
      lead={others > 0 ? words.othersTaken(others, count, folderName) : words.takenIn(folderName)}
      footer={
        <>
          <Button onClick={() => answer(undefined)}>{words.cancelUpload}</Button>
          <Button look="main" onClick={() => answer({ how, isForAll })}>
            {words.ways[how]}
          </Button>
        </>
      }
    >
      <div className="cmps">
        <Version label={words.inFolder} size={theirs.size} at={theirs.at} />
        <Version label={words.yours} size={mine.size} at={mine.lastModified} />
      </div>
      <fieldset className="stack g3">
        <legend className="sr">{words.decide}</legend>
        {ways.map((way) => (
          <label key={way} className="opt-row">
            <input type="radio" className="check radio" name="way" checked={how === way} onChange={() => setHow(way)} />
            <span>
              <b className="med">{words.ways[way]}</b>
              <small className="cap quiet">{explain(way, conflict)}</small>
            </span>
          </label>
        ))}
      </fieldset>
      {others > 0 && <Check label={words.forOthers(others)} checked={isForAll} onChange={() => setForAll(!isForAll)} />}
    </Dialog>
  );
}

function explain(way: Decision['how'], { freeName }: Conflict): string {
  const { willBe, willReplace, willSkip } = text.uploads;
  return way === 'keep' ? willBe(freeName) : way === 'replace' ? willReplace : willSkip;
}

interface VersionProps {
  label: string;
  size: number;
  at: string | number | undefined;
}

function Version({ label, size, at }: VersionProps) {
  const moment = at === undefined ? '' : ` · ${formatMoment(new Date(at).toISOString())}`;
  return (
    <div className="cmp">
      <b className="strong">{label}</b>
      <span className="cap quiet num">
        {formatBytes(size)}
        {moment}
      </span>
    </div>
  );
}
