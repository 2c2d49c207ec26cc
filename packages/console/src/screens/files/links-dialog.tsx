import { useRef } from 'react';
import { Dialog } from '../../components/dialog.tsx';
import { Links } from './links.tsx';
import type { Entry } from './use-listing.ts';

interface LinksDialogProps {
  projectId: string;
  file: Entry;
  onClose: () => void;
}

/** The links of a file. The focus is at the button that makes another: the usual terms will do for most. */
export function LinksDialog({ projectId, file, onClose }: LinksDialogProps) {
  const body = useRef<HTMLDivElement>(null);
  return (
    <Dialog
      open
      onClose={onClose}
      title={file.name}
      initialFocus={() => body.current?.querySelector<HTMLElement>('[type=submit]') ?? null}
    >
      <div ref={body}>
        <Links projectId={projectId} fileId={file.id} />
      </div>
    </Dialog>
  );
}
