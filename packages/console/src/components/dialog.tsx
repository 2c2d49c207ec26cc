import { Dialog as Base } from '@base-ui/react/dialog';
import { X } from 'lucide-react';
import type { ReactNode, RefObject } from 'react';
import { text } from '../text/text.ts';

interface DialogProps {
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
  children?: ReactNode;
  /** Buttons, the main one last. */
  footer?: ReactNode;
}

/** A dialog; on phones, a sheet from below. The focus goes back to what opened it. */
export function Dialog({ open, onClose, title, lead, width = 's', isKept = false, ...rest }: DialogProps) {
  return (
    <Base.Root
      open={open}
      disablePointerDismissal={isKept}
      onOpenChange={(isOpen, details) => {
        if (isOpen) return;
        if (isKept && details.reason === 'escape-key') details.cancel();
        else onClose();
      }}
    >
      <Base.Portal>
        <Base.Backdrop className="backdrop" />
        <Base.Viewport className="scrim plain">
          <Base.Popup className={`dialog ${width}`} initialFocus={rest.initialFocus}>
            <header>
              <div className="grow">
                <Base.Title>{title}</Base.Title>
                {lead && <Base.Description>{lead}</Base.Description>}
              </div>
              {!isKept && (
                <Base.Close className="btn icon ghost" aria-label={text.common.close}>
                  <X className="i" aria-hidden="true" />
                </Base.Close>
              )}
            </header>
            {rest.children && <div className="in">{rest.children}</div>}
            {rest.footer && <footer>{rest.footer}</footer>}
          </Base.Popup>
        </Base.Viewport>
      </Base.Portal>
    </Base.Root>
  );
}
