import { toNameKey } from '../uploads/names.ts';

/** Where something stands in a text. */
interface Span {
  at: number;
  end: number;
}

const nowhere: Span = { at: 0, end: 0 };

/** Where a part of a name is, in any case. */
export function findPart(name: string, part: string): Span {
  if (part === '') return nowhere;
  const inName = toNameKey(name);
  const key = toNameKey(part);
  const at = inName.indexOf(key);
  // If comparing has made it longer or shorter, its positions are not those of the name.
  if (at < 0 || inName.length !== name.length) return nowhere;
  return { at, end: at + key.length };
}

/** A text of which what is in the span stands out; the span may begin before it, and end after it. */
export function Marked({ text, at, end }: Span & { text: string }) {
  const from = Math.max(0, at);
  const to = Math.min(text.length, end);
  if (from >= to) return text;
  return (
    <>
      {text.slice(0, from)}
      <mark>{text.slice(from, to)}</mark>
      {text.slice(to)}
    </>
  );
}
