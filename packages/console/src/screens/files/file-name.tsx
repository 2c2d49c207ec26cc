/** A name that is cut in its stem, never in its extension. */
export function FileName({ name }: { name: string }) {
  const dot = name.lastIndexOf('.');
  const isSplit = dot > 0 && name.length - dot <= 8;
  return (
    <span className="name">
      <bdi className="stem">{isSplit ? name.slice(0, dot) : name}</bdi>
      {isSplit && <span className="ext">{name.slice(dot)}</span>}
    </span>
  );
}
