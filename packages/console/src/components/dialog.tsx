import { lazy, type ReactNode, type RefObject, Suspense, useState } from 'react';

export interface DialogProps {
  open: boolean;
  /** Called for Escape, the scrim and the cross, unless `isKept`. */
  onClose: () => void;
  title: string;
  lead?: ReactNode;
  /** 480, 640, 716 or 820 pixels wide. */
  width?: 's' | 'w' | 'k' | 'x';
  /** Whether only its own buttons close it, since something would be lost. */
  isKept?: boolean;
  /** What gets the focus at first; the first field by default. */
  initialFocus?: RefObject<HTMLElement | null>;
  /** Whether it has text alone, to be scrolled through by keys. */
  isText?: boolean;
  /** Stands in the head, after the title. */
  headEnd?: ReactNode;
  children?: ReactNode;
  /** Buttons, the main one last. */
  footer?: ReactNode;
}

const DialogPopup = lazy(async () => ({ default: (await import('./dialog-popup.tsx')).DialogPopup }));

/** A dialog; on phones, a sheet from below. The focus goes back to what opened it. */
export function Dialog(props: DialogProps) {
  const [isNeeded, setNeeded] = useState(props.open);
  if (props.open && !isNeeded) setNeeded(true);
  if (!isNeeded) return null;
  return (
    <Suspense>
      <DialogPopup {...props} />
    </Suspense>
  );
}
