import { Toast as Base } from '@base-ui/react/toast';
import { X } from 'lucide-react';
import { type MouseEvent, useEffect } from 'react';
import { text } from '../text/text.ts';
import { CopyButton } from './copy-button.tsx';

export interface ToastData {
  /** Whether it stays until the next message. */
  isGoingOn?: boolean;
  undo?: () => void;
  /** Of an error: its code and request id, to be copied. */
  details?: string;
}

export const manager = Base.createToastManager<ToastData>();

const { promise, resolve } = Promise.withResolvers<void>();
/** Resolved once messages can be shown: a message added before that would be lost. */
export const ready = promise;

/** Where the newest message is shown. */
export function ToastRegion() {
  useEffect(() => resolve(), []);
  return (
    <Base.Provider toastManager={manager} limit={1}>
      <Base.Portal>
        <Base.Viewport>
          <Shown />
        </Base.Viewport>
      </Base.Portal>
    </Base.Provider>
  );
}

/** A button that is clicked goes away with its message, so the focus stays where it is. */
const keepFocus = (event: MouseEvent) => event.preventDefault();

function Shown() {
  const { toasts, close } = Base.useToastManager<ToastData>();
  return toasts.map((one) => (
    <Base.Root key={one.id} toast={one} className="toast">
      <Base.Title render={<span />} />
      {one.data?.undo && (
        <button
          type="button"
          className="btn"
          onMouseDown={keepFocus}
          onClick={() => {
            one.data?.undo?.();
            close(one.id);
          }}
        >
          {text.common.undo}
        </button>
      )}
      {one.data?.details && <CopyButton value={one.data.details} label={text.errors.copyDetails} />}
      <Base.Close className="btn icon" onMouseDown={keepFocus} aria-label={text.common.close}>
        <X className="i" aria-hidden="true" />
      </Base.Close>
    </Base.Root>
  ));
}
