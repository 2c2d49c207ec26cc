import { useBlocker } from '@tanstack/react-router';
import { type ReactNode, useId } from 'react';
import { type Fields, useForm } from '../screens/entry/form.ts';
import { isSignedOut } from '../signed-out.ts';
import { text } from '../text/text.ts';
import { Button } from './button.tsx';
import { Dialog } from './dialog.tsx';
import { StillWorking } from './parts.tsx';
import { ProblemNote, problemOf } from './problem.tsx';
import { toast } from './toast.tsx';

interface FormDialogProps {
  title: string;
  lead?: ReactNode;
  /** The word on the button that sends it. */
  submit: string;
  isDanger?: boolean;
  /** Whether it cannot be sent yet. */
  isOff?: boolean;
  /** Whether the answer is shown this once: until it comes, nothing leads away. */
  isSecret?: boolean;
  /** The path of its one field: what is wrong with that is said there alone. */
  field?: string;
  /**
   * Sends the fields. What it throws is shown.
   * @param close closes the dialog; says whether nobody had closed it meanwhile
   */
  send: (fields: Fields, close: () => boolean) => Promise<void>;
  onClose: () => void;
  /** The fields, given what went wrong, so that it can be said at the field that it concerns. */
  children?: (error: unknown) => ReactNode;
}

const sayThatItGoesOn = () => void toast(text.errors.slow);

/**
 * A dialog that asks for something and sends it. It is mounted while it is open, so that it begins empty. What has been sent goes on
 * if the dialog is closed, and its answer closes no other one.
 */
export function FormDialog({
  title,
  lead,
  submit,
  isDanger,
  isOff,
  isSecret,
  field,
  send,
  onClose,
  children,
}: FormDialogProps) {
  const id = useId();
  const { onSubmit, error, isPending } = useForm((fields, isThere) => {
    const close = () => {
      const wasOpen = isThere();
      if (wasOpen) onClose();
      return wasOpen;
    };
    return send(fields, close);
  });
  useBlocker({
    shouldBlockFn: () => {
      sayThatItGoesOn();
      return true;
    },
    // Until somebody has signed in again, nothing is done.
    enableBeforeUnload: () => !isSignedOut(),
    disabled: !isSecret || !isPending,
  });
  function leave() {
    if (isPending) sayThatItGoesOn();
    onClose();
  }
  return (
    <Dialog
      open
      onClose={leave}
      title={title}
      lead={lead}
      footer={
        <>
          <Button onClick={leave}>{text.common.cancel}</Button>
          <Button look={isDanger ? 'danger' : 'main'} type="submit" form={id} busy={isPending} disabled={isOff}>
            {submit}
          </Button>
        </>
      }
    >
      <form id={id} className="stack g4" onSubmit={onSubmit}>
        {children?.(error)}
        {(field === undefined || problemOf(error, field) === undefined) && <ProblemNote error={error} />}
        {isPending && <StillWorking />}
      </form>
    </Dialog>
  );
}
