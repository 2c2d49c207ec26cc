import { useMutation } from '@tanstack/react-query';
import { type KeyboardEvent, useEffect, useRef } from 'react';
import { messageOf } from '../../components/problem.tsx';
import { text } from '../../text/text.ts';
import { loadCommands } from './load-commands.ts';
import type { Entry } from './use-listing.ts';

interface NameFieldProps {
  projectId: string;
  entry: Entry;
  /** Whether the listing no longer has it. */
  isGone?: boolean;
  /** Called when editing is over; with a step if the name of the next or previous entry is edited then. */
  onDone: (step?: 1 | -1) => void;
}

/** Whether the focus goes to a dialog that has opened by itself, such as one that asks to sign in again: it comes back to the half-typed name. */
function isOfOtherDialog(element: Element | null, field: Element | null): boolean {
  const dialog = element?.closest('[role=dialog]');
  return dialog != null && !dialog.contains(field);
}

/**
 * Renames in place: the stem is selected; Enter and Tab save, Escape restores; a refusal stays open with its reason. So does the
 * field of an entry that is gone, until somebody leaves it.
 */
export function NameField({ projectId, entry, isGone = false, onDone }: NameFieldProps) {
  const field = useRef<HTMLInputElement>(null);
  const { mutate, error, isPending } = useMutation({
    mutationFn: async ({ name }: { name: string; step: 1 | -1 | undefined }) =>
      (await loadCommands()).rename(projectId, entry, name),
    onSuccess: (_, { step }) => onDone(step),
  });
  const reason = error ? messageOf(error) : isGone && !isPending ? text.files.notListed : undefined;
  useEffect(() => {
    const dot = entry.kind === 'file' ? entry.name.lastIndexOf('.') : -1;
    field.current?.focus();
    field.current?.setSelectionRange(0, dot > 0 ? dot : entry.name.length);
    // Only when it opens: a change by others makes it another entry, which must not touch what is typed.
  }, []);
  function save(step?: 1 | -1) {
    const name = field.current?.value ?? '';
    if (isPending) return;
    if (name === entry.name || name === '') onDone(step);
    else mutate({ name, step });
  }
  function leave() {
    if (isGone && !isPending) onDone();
    else if (!error) save();
  }
  function onKeyDown(event: KeyboardEvent) {
    event.stopPropagation();
    // These keys are for the input method then.
    if (event.nativeEvent.isComposing) return;
    if (event.key === 'Escape') onDone();
    if (event.key === 'Enter') save();
    if (event.key !== 'Tab') return;
    event.preventDefault();
    save(event.shiftKey ? -1 : 1);
  }
  return (
    <span className="rename-in">
      <span className={`input m ${reason ? 'is-bad' : ''}`}>
        <input
          ref={field}
          defaultValue={entry.name}
          aria-label={text.files.newName}
          aria-invalid={reason ? true : undefined}
          // What would be typed after the name was sent would be lost.
          readOnly={isPending}
          onKeyDown={onKeyDown}
          onClick={(event) => event.stopPropagation()}
          onBlur={({ relatedTarget }) => !isOfOtherDialog(relatedTarget, field.current) && leave()}
        />
        {isPending && <span className="spin" aria-hidden="true" />}
      </span>
      {reason && (
        <span className="hint bad" role="alert">
          {reason}
        </span>
      )}
    </span>
  );
}
