import { Toast as Base } from '@base-ui/react/toast';
import { X } from 'lucide-react';
import type { ReactNode } from 'react';
import { text } from '../text/text.ts';
import { messageOf } from './problem.tsx';

const manager = Base.createToastManager<{ undo?: () => void }>();

/** Says something for six seconds. With `undo`, ten seconds, and a button that takes it back. */
export function toast(message: string, { undo }: { undo?: () => void } = {}): void {
  manager.add({ id: 'only', title: message, timeout: undo ? 10_000 : 6000, data: { ...(undo && { undo }) } });
}

/** Says what went wrong. */
export const toastError = (error: unknown): void => toast(messageOf(error));

export function Toasts({ children }: { children: ReactNode }) {
  return (
    <Base.Provider toastManager={manager} limit={1}>
      {children}
      <Base.Portal>
        <Base.Viewport>
          <Shown />
        </Base.Viewport>
      </Base.Portal>
    </Base.Provider>
  );
}

function Shown() {
  const { toasts, close } = Base.useToastManager<{ undo?: () => void }>();
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
