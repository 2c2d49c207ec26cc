import { Dialog as Base } from '@base-ui/react/dialog';
import { X } from 'lucide-react';
import { type ReactNode, type RefObject, useRef, useState } from 'react';
import { straighten } from '../straighten.ts';
import { text } from '../text/text.ts';
import { toDragDown } from './drag-down.ts';
import { useOpener } from './use-opener.ts';
import '../styles/screens/dialog-print.css';

export interface DialogProps {
  open: boolean;
  /**
   * Called for Escape, a click beside the dialog or on its cross, and a sheet that is dragged down, unless `isKept`; for the click
   * beside it and the sheet only while nothing has been typed.
   */
  onClose: () => void;
  title: string;
  lead?: ReactNode;
  /** 480, 640, 716 or 820 pixels wide. */
  width?: 's' | 'w' | 'k' | 'x';
  /** Whether only its own buttons close it, since something would be lost. */
  isKept?: boolean;
  /** What gets the focus at first; the first field by default. */
  initialFocus?: RefObject<HTMLElement | null> | (() => HTMLElement | null);
  /** Whether it has nothing but text, which the keys then scroll. */
  isText?: boolean;
  /** Stands in the head, after the title. */
  headEnd?: ReactNode;
  children?: ReactNode;
  /** Buttons, the main one last. */
  footer?: ReactNode;
}

/** The dialog itself: it is loaded when the first is opened. */
export function DialogPopup({ open, onClose, title, lead, width = 's', isKept = false, ...rest }: DialogProps) {
  const body = useRef<HTMLDivElement>(null);
  const focusOpener = useOpener(open);
  const [isTyped, setTyped] = useState(false);
  if (!open && isTyped) setTyped(false);
  const toFirstField = () =>
    body.current?.querySelector<HTMLElement>(':is(input, textarea, select):enabled:not([type="hidden"], [hidden])') ??
    true;
  return (
    <Base.Root
      open={open}
      disablePointerDismissal={isKept || isTyped}
      onOpenChange={(isOpen, details) => {
        if (isOpen) return;
        if (isKept && details.reason === 'escape-key') details.cancel();
        else onClose();
      }}
    >
      <Base.Portal>
        <Base.Backdrop className="backdrop" forceRender />
        <Base.Viewport className="scrim plain">
          <Base.Popup
            className={`dialog ${width}`}
            initialFocus={rest.initialFocus ?? toFirstField}
            finalFocus={focusOpener}
            onInput={() => setTyped(true)}
            {...(!isKept && !isTyped && toDragDown(onClose))}
          >
            <header className="grip">
              <div className="grow">
                <Base.Title>{straighten(title)}</Base.Title>
                {lead && <Base.Description>{lead}</Base.Description>}
              </div>
              {rest.headEnd}
              {!isKept && (
                <Base.Close className="btn icon ghost" aria-label={text.common.close}>
                  <X className="i" aria-hidden="true" />
                </Base.Close>
              )}
            </header>
            {rest.children && (
              <div ref={body} className="in" tabIndex={rest.isText ? 0 : undefined}>
                {rest.children}
              </div>
            )}
            {rest.footer && <footer>{rest.footer}</footer>}
          </Base.Popup>
        </Base.Viewport>
      </Base.Portal>
    </Base.Root>
  );
}
