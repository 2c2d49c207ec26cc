import { X } from 'lucide-react';
import { Button } from '../../components/button.tsx';
import { Field, Select } from '../../components/field.tsx';
import { later } from '../../text/later.ts';
import { type AuditSearch, isKind, kinds } from './search.ts';

interface FiltersProps {
  search: AuditSearch;
  /** Who can be chosen, as id and name. */
  actors: ReadonlyMap<string, string>;
  onChange: (change: AuditSearch) => void;
}

/** What is looked for: what kind of event, by whom, when. */
export function Filters({ search, actors, onChange }: FiltersProps) {
  const { audit } = later;
  const { kind, by, from, to } = search;
  const people = [...actors].map(([value, label]) => ({ value, label }));
  if (by !== undefined && !actors.has(by)) people.push({ value: by, label: by });
  const isOn = Object.values(search).some((value) => value !== undefined);
  return (
    <search className="filters">
      <Select
        label={audit.kind}
        value={kind ?? ''}
        options={[
          { value: '', label: audit.everyKind },
          ...kinds.map((value) => ({ value, label: audit.kinds[value] })),
        ]}
        onChange={(value) => onChange({ kind: isKind(value) ? value : undefined })}
      />
      <Select
        label={audit.who}
        value={by ?? ''}
        options={[{ value: '', label: audit.everybody }, ...people]}
        onChange={(value) => onChange({ by: value === '' ? undefined : value })}
      />
      <Field
        label={audit.since}
        type="date"
        value={from ?? ''}
        max={to}
        onChange={({ target }) => onChange({ from: target.value || undefined })}
      />
      <Field
        label={audit.until}
        type="date"
        value={to ?? ''}
        min={from}
        onChange={({ target }) => onChange({ to: target.value || undefined })}
      />
      {isOn && (
        <Button
          look="ghost"
          icon={X}
          onClick={() => onChange({ kind: undefined, by: undefined, from: undefined, to: undefined })}
        >
          {audit.clear}
        </Button>
      )}
    </search>
  );
}
