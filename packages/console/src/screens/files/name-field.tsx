import { useMutation } from '@tanstack/react-query';
import { type KeyboardEvent, useEffect, useRef } from 'react';
import { messageOf } from '../../components/problem.tsx';
import { text } from '../../text/text.ts';
import { rename } from './commands.ts';
import type { Entry } from './use-listing.ts';

interface NameFieldProps {
  projectId: string;
  entry: Entry;
  onDone: () => void;
}

/** Renames in place: the stem is selected; Enter saves, Escape restores; a refusal stays open with its reason. */
export function NameField({ projectId, entry, onDone }: NameFieldProps) {
  const field = useRef<HTMLInputElement>(null);
  const { mutate, error, isPending } = useMutation({
    mutationFn: (name: string) => rename(projectId, entry, name),
    onSuccess: onDone,
  });
  useEffect(() => {
    const dot = entry.kind === 'file' ? entry.name.lastIndexOf('.') : -1;
    field.current?.focus();
    field.current?.setSelectionRange(0, dot > 0 ? dot : entry.name.length);
  }, [entry]);
  function save() {
    const name = field.current?.value ?? '';
    if (isPending) return;
    if (name === entry.name || name === '') onDone();
    else mutate(name);
  }
  function onKeyDown(event: KeyboardEvent) {
    event.stopPropagation();
    if (event.key === 'Escape') onDone();
    if (event.key === 'Enter') save();
  }
  return (
    <span className="rename-in">
      <span className={`input m ${error ? 'is-bad' : ''}`}>
        <input
          ref={field}
          defaultValue={entry.name}
          aria-label={text.files.newName}
          aria-invalid={error ? true : undefined}
          onKeyDown={onKeyDown}
          onBlur={() => !error && save()}
        />
      </span>
      {error && (
        <span className="hint bad" role="alert">
          {messageOf(error)}
        </span>
      )}
    </span>
  );
}
