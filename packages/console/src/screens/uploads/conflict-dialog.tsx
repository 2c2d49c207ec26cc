import { FileImage } from 'lucide-react';
import { useState } from 'react';
import { Button } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { Check } from '../../components/field.tsx';
import { formatBytes, formatMoment } from '../../format.ts';
import { text } from '../../text/text.ts';
import { useLocalUrl } from '../../use-local-url.ts';
import { Picture } from '../files/picture.tsx';
import type { Conflict, Decision, Question, Version } from './conflicts.ts';

const ways = ['keep', 'replace', 'skip'] as const;

/** Asks what becomes of a file whose name is taken. It is mounted anew for each question. */
export function ConflictDialog({ question: { conflict, answer } }: { question: Question }) {
  const { name, mine, theirs, folderName, others, count } = conflict;
  const [how, setHow] = useState<Decision['how']>('keep');
  const [isForAll, setForAll] = useState(false);
  const { uploads: words } = text;
  return (
    <Dialog
      open
      width="w"
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
        <VersionCard label={words.inFolder} version={theirs} />
        <VersionCard label={words.yours} version={mine} />
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

/** One of the two, with its picture if it is one. */
function VersionCard({ label, version: { size, at, picture } }: { label: string; version: Version }) {
  const moment = at === undefined ? '' : ` · ${formatMoment(new Date(at).toISOString())}`;
  return (
    <div className="cmp">
      {picture instanceof Blob ? <LocalPicture blob={picture} /> : <Shown sources={picture ?? []} />}
      <b className="strong">{label}</b>
      <span className="cap quiet num">
        {formatBytes(size)}
        {moment}
      </span>
    </div>
  );
}

function LocalPicture({ blob }: { blob: Blob }) {
  const url = useLocalUrl(blob);
  return <Shown key={url} sources={url === undefined ? [] : [url]} />;
}

const Shown = ({ sources }: { sources: readonly string[] }) =>
  sources.length > 0 && (
    <div className="cmp-pic">
      <Picture sources={sources} none={<FileImage className="i" aria-hidden="true" />} />
    </div>
  );
