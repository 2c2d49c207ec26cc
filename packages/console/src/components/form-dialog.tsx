import { type ReactNode, useId } from 'react';
import { type Fields, useForm } from '../screens/entry/form.ts';
import { text } from '../text/text.ts';
import { Button } from './button.tsx';
import { Dialog } from './dialog.tsx';
import { ProblemNote } from './problem.tsx';

interface FormDialogProps {
  title: string;
  lead?: ReactNode;
  /** The word on the button that sends it. */
  submit: string;
  isDanger?: boolean;
  /** Whether it cannot be sent yet. */
  isOff?: boolean;
  /** Sends the fields, and then closes the dialog or goes elsewhere. What it throws is shown. */
  send: (fields: Fields) => Promise<void>;
  onClose: () => void;
  /** The fields, given what went wrong, so that it can be said at the field that it concerns. */
  children?: (error: unknown) => ReactNode;
}

/** A dialog that asks for something and sends it. It is mounted while it is open, so that it begins empty. */
export function FormDialog({ title, lead, submit, isDanger, isOff, send, onClose, children }: FormDialogProps) {
  const id = useId();
  const { onSubmit, error, isPending } = useForm(send);
  return (
    <Dialog
      open
      onClose={onClose}
      title={title}
      lead={lead}
      footer={
        <>
          <Button onClick={onClose}>{text.common.cancel}</Button>
          <Button look={isDanger ? 'danger' : 'main'} type="submit" form={id} busy={isPending} disabled={isOff}>
            {submit}
          </Button>
        </>
      }
    >
      <form id={id} className="stack g4" onSubmit={onSubmit}>
        {children?.(error)}
        <ProblemNote error={error} />
      </form>
    </Dialog>
  );
}
