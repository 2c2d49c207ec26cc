/** What events are about, as their types begin; those that happen in a project. */
export const kinds = [
  'file',
  'folder',
  'bulk',
  'trash',
  'link',
  'api_key',
  'ticket',
  'quarantine',
  'member',
  'invitation',
  'project',
] as const;
export type Kind = (typeof kinds)[number];

export const isKind = (value: unknown): value is Kind => kinds.some((kind) => kind === value);

/** Which events are looked for; a part of the URL. */
export interface AuditSearch {
  kind?: Kind | undefined;
  /** The id of the account or the API key that did it. */
  by?: string | undefined;
  /** The first and the last day, as `2026-11-21`, in the reader's time zone. */
  from?: string | undefined;
  to?: string | undefined;
}

/** Whatever is not understood is undefined. */
export function toAuditSearch({ kind, by, from, to }: Record<string, unknown>): AuditSearch {
  const toDay = (value: unknown) => (typeof value === 'string' && /^\d{4}-\d\d-\d\d$/.test(value) ? value : undefined);
  return {
    kind: isKind(kind) ? kind : undefined,
    by: typeof by === 'string' && by !== '' ? by : undefined,
    from: toDay(from),
    to: toDay(to),
  };
}
