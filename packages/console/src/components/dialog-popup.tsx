import { Dialog as Base } from '@base-ui/react/dialog';
import { X } from 'lucide-react';
import { useRef } from 'react';
import { text } from '../text/text.ts';
import type { DialogProps } from './dialog.tsx';

/** The dialog itself: it is loaded when the first is opened. */
export function DialogPopup({ open, onClose, title, lead, width = 's', isKept = false, ...rest }: DialogProps) {
  const body = useRef<HTMLDivElement>(null);
  const toFirstField = () =>
    body.current?.querySelector<HTMLElement>(':is(input, textarea, select):enabled:not([type="hidden"])') ?? true;
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
        <Base.Backdrop className="backdrop" forceRender />
        <Base.Viewport className="scrim plain">
          <Base.Popup className={`dialog ${width}`} initialFocus={rest.initialFocus ?? toFirstField}>
            <header>
              <div className="grow">
                <Base.Title>{title}</Base.Title>
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
