import { lazy, Suspense, useState } from 'react';
import { onceReachable } from '../once-reachable.ts';
import { Coming } from './coming.tsx';
import type { DialogProps } from './dialog-popup.tsx';

const DialogPopup = lazy(onceReachable(async () => ({ default: (await import('./dialog-popup.tsx')).DialogPopup })));

/** A dialog; on phones, a sheet from below. The focus goes back to what opened it. */
export function Dialog(props: DialogProps) {
  const [isNeeded, setNeeded] = useState(props.open);
  if (props.open && !isNeeded) setNeeded(true);
  if (!isNeeded) return null;
  return (
    <Suspense fallback={props.open && <Coming onClose={props.onClose} />}>
      <DialogPopup {...props} />
    </Suspense>
  );
}
