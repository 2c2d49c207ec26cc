import { Toast as Base } from '@base-ui/react/toast';
import { X } from 'lucide-react';
import { useEffect } from 'react';
import { text } from '../text/text.ts';
import { markReady, type ToastData } from './toast.tsx';

export const manager = Base.createToastManager<ToastData>();

/** Where the newest message is shown. */
export function ToastRegion() {
  useEffect(() => markReady(), []);
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

function Shown() {
  const { toasts, close } = Base.useToastManager<ToastData>();
  return toasts.map((one) => (
    <Base.Root key={one.id} toast={one} className="toast">
      <Base.Title render={<span />} />
      {one.data?.undo && (
        <button
          type="button"
          className="btn"
          onClick={() => {
            one.data?.undo?.();
            close(one.id);
          }}
        >
          {text.common.undo}
        </button>
      )}
      <Base.Close className="btn icon" aria-label={text.common.close}>
        <X className="i" aria-hidden="true" />
      </Base.Close>
    </Base.Root>
  ));
}
