import type { Counts } from '@cadiz/client';
import { useQuery } from '@tanstack/react-query';
import { Trash2 } from 'lucide-react';
import { useRef } from 'react';
import { Button } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { ProblemNote } from '../../components/problem.tsx';
import { formatBytes, formatCount } from '../../format.ts';
import { text } from '../../text/text.ts';
import { type Chosen, countExcepted, toReach } from './chosen.ts';
import { countDeleted } from './commands.ts';

interface DeleteDialogProps {
  projectId: string;
  chosen: Chosen;
  onDelete: () => void;
  onClose: () => void;
}

/** Asks before much goes, and says exactly what. */
export function DeleteDialog({ projectId, chosen, onDelete, onClose }: DeleteDialogProps) {
  const safe = useRef<HTMLButtonElement>(null);
  const { data: counts, error } = useQuery({
    queryKey: ['delete', projectId, chosen],
    queryFn: () => countDeleted(projectId, chosen),
    staleTime: 0,
    gcTime: 0,
  });
  const { files } = text;
  const [only, ...others] = chosen.entries;
  const isOne = chosen.select === undefined && only !== undefined && others.length === 0;
  return (
    <Dialog
      open
      onClose={onClose}
      initialFocus={safe}
      title={
        isOne ? files.deleteOne(only.name) : files.deleteMany(chosen.count, toReach(chosen), countExcepted(chosen))
      }
      lead={files.deleteLead}
      footer={
        <>
          <Button ref={safe} onClick={onClose}>
            {text.common.cancel}
          </Button>
          <Button look="danger" icon={Trash2} disabled={!counts} onClick={onDelete}>
            {counts ? toWord(counts) : text.common.delete}
          </Button>
        </>
      }
    >
      <ProblemNote error={error} />
      <dl className="figs" aria-busy={!counts}>
        <Figure label={files.files} value={counts && formatCount(counts.files)} />
        <Figure label={files.folders} value={counts && formatCount(counts.folders)} />
        <Figure label={files.size} value={counts && formatBytes(counts.bytes)} />
      </dl>
    </Dialog>
  );
}

const toWord = ({ files, folders }: Counts): string =>
  files > 0 ? text.files.deleteFiles(files) : text.files.deleteFolders(folders);

const Figure = ({ label, value = '…' }: { label: string; value: string | undefined }) => (
  <div className="fig">
    <dt>{label}</dt>
    <dd>{value}</dd>
  </div>
);
