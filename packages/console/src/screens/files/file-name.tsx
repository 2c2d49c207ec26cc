import { findPart, Marked } from './marked.tsx';

/** A name that is cut in its stem, never in its extension. @param props `found`: the part of it that was searched for */
export function FileName({ name, found = '' }: { name: string; found?: string }) {
  const dot = name.lastIndexOf('.');
  const isSplit = dot > 0 && name.length - dot <= 8;
  const { at, end } = findPart(name, found);
  return (
    <span className="name">
      <bdi className="stem">
        <Marked text={isSplit ? name.slice(0, dot) : name} at={at} end={end} />
      </bdi>
      {isSplit && (
        <span className="ext">
          <Marked text={name.slice(dot)} at={at - dot} end={end - dot} />
        </span>
      )}
    </span>
  );
}
