import { Plus, X } from 'lucide-react';
import { useState } from 'react';
import { clientOf } from '../../api.ts';
import { Button, IconButton } from '../../components/button.tsx';
import { Field, Select } from '../../components/field.tsx';
import { FormDialog } from '../../components/form-dialog.tsx';
import { problemOf } from '../../components/problem.tsx';
import { queryClient } from '../../queries.ts';
import { text } from '../../text/text.ts';
import type { Fields } from '../entry/form.ts';
import { refresh } from './commands.ts';
import type { FileEntry } from './use-listing.ts';

type Value = string | number | boolean;
type Kind = 'string' | 'number' | 'boolean';

/** One key with its value, as it is typed. */
interface Row {
  id: number;
  key: string;
  kind: Kind;
  value: string;
}

/** As the contract has it. */
const mostKeys = 32;
const keyForm = '[A-Za-z0-9_.\\-]{1,64}';

const toKind = (value: Value): Kind =>
  typeof value === 'number' ? 'number' : typeof value === 'boolean' ? 'boolean' : 'string';

const toValue = ({ kind, value }: Row): Value =>
  kind === 'number' ? Number(value) : kind === 'boolean' ? value === 'true' : value;

/** Makes a value of another kind of what was typed, as far as possible. */
function convert(value: string, kind: Kind): string {
  if (kind === 'boolean') return String(value === 'true');
  return kind === 'number' && !Number.isFinite(Number(value)) ? '' : value;
}

interface MetadataDialogProps {
  projectId: string;
  file: FileEntry['item'];
  onClose: () => void;
}

/** Changes what an application keeps with a file. Only what has changed is sent, so that others may change the rest. */
export function MetadataDialog({ projectId, file: shown, onClose }: MetadataDialogProps) {
  // As it was when somebody began to type: what others have changed since is no change of theirs.
  const [file] = useState(shown);
  const [rows, setRows] = useState<readonly Row[]>(() =>
    Object.entries(file.metadata).map(([key, value], id) => ({ id, key, kind: toKind(value), value: String(value) })),
  );
  const { preview } = text;
  const keys = rows.map(({ key }) => key);
  const change = (id: number, part: Partial<Row>) =>
    setRows(rows.map((row) => (row.id === id ? { ...row, ...part } : row)));

  async function save({ externalId = '' }: Fields, close: () => boolean) {
    const changes = new Map<string, Value | null>();
    for (const key of Object.keys(file.metadata)) if (!keys.includes(key)) changes.set(key, null);
    for (const row of rows) if (file.metadata[row.key] !== toValue(row)) changes.set(row.key, toValue(row));
    const changed = await clientOf(projectId).files.update(file.id, {
      // Assigned to an object, a key of `__proto__` would be lost, and nobody be told that it cannot be used.
      metadata: Object.fromEntries(changes),
      ...(externalId !== (file.externalId ?? '') && { externalId: externalId || null }),
    });
    queryClient.setQueryData(['file', file.id], changed);
    void refresh(projectId);
    close();
  }

  return (
    <FormDialog
      title={preview.metadata}
      lead={preview.metadataLead}
      submit={text.common.save}
      isOff={new Set(keys).size < keys.length}
      send={save}
      onClose={onClose}
    >
      {(error) => (
        <>
          <Field
            label={preview.externalId}
            name="externalId"
            defaultValue={file.externalId ?? ''}
            hint={preview.externalIdHint}
            problem={problemOf(error, 'externalId')}
            maxLength={255}
          />
          <ul className="stack g4">
            {rows.map((row, index) => (
              <MetadataRow
                key={row.id}
                row={row}
                problem={keys.indexOf(row.key) < index ? preview.keyTaken : problemOf(error, `metadata.${row.key}`)}
                onChange={(part) => change(row.id, part)}
                onRemove={() => setRows(rows.filter(({ id }) => id !== row.id))}
              />
            ))}
          </ul>
          <Button
            icon={Plus}
            disabled={rows.length >= mostKeys}
            onClick={() =>
              setRows([
                ...rows,
                { id: Math.max(-1, ...rows.map(({ id }) => id)) + 1, key: '', kind: 'string', value: '' },
              ])
            }
          >
            {preview.addKey}
          </Button>
        </>
      )}
    </FormDialog>
  );
}

interface MetadataRowProps {
  row: Row;
  problem: string | undefined;
  onChange: (part: Partial<Row>) => void;
  onRemove: () => void;
}

function MetadataRow({ row: { key, kind, value }, problem, onChange, onRemove }: MetadataRowProps) {
  const { preview } = text;
  const kinds: readonly Kind[] = ['string', 'number', 'boolean'];
  return (
    <li className="fact-row">
      <Field
        label={preview.key}
        value={key}
        problem={problem}
        required
        pattern={keyForm}
        title={preview.keyHint}
        autoFocus={key === ''}
        onChange={({ target }) => onChange({ key: target.value })}
      />
      <Select
        label={preview.kind}
        value={kind}
        options={kinds.map((kind) => ({ value: kind, label: preview.kinds[kind] }))}
        onChange={(kind) => onChange({ kind, value: convert(value, kind) })}
      />
      {kind === 'boolean' ? (
        <Select
          label={preview.value}
          value={value}
          options={['true', 'false'].map((word) => ({ value: word, label: word }))}
          onChange={(value) => onChange({ value })}
        />
      ) : (
        <Field
          label={preview.value}
          value={value}
          {...(kind === 'number' && { type: 'number', step: 'any', required: true })}
          onChange={({ target }) => onChange({ value: target.value })}
        />
      )}
      <IconButton icon={X} label={preview.removeKey(key)} onClick={onRemove} />
    </li>
  );
}
