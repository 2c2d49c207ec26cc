import { Button } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { Field } from '../../components/field.tsx';
import { ProblemNote, problemOf } from '../../components/problem.tsx';
import { text } from '../../text/text.ts';
import { useForm } from '../entry/form.ts';
import { createFolder } from './commands.ts';

interface NewFolderProps {
  open: boolean;
  projectId: string;
  parentId: string | null;
  onClose: () => void;
}

export function NewFolder({ open, projectId, parentId, onClose }: NewFolderProps) {
  const { onSubmit, error, isPending, reset } = useForm(async ({ name = '' }) => {
    await createFolder(projectId, name, parentId);
    close();
  });
  function close() {
    reset();
    onClose();
  }
  const problem = problemOf(error, 'name');
  return (
    <Dialog
      open={open}
      onClose={close}
      title={text.files.newFolder}
      footer={
        <>
          <Button onClick={close}>{text.common.cancel}</Button>
          <Button look="main" type="submit" form="new-folder" busy={isPending}>
            {text.common.create}
          </Button>
        </>
      }
    >
      <form id="new-folder" className="stack g4" onSubmit={onSubmit}>
        <Field label={text.files.folderName} name="name" required problem={problem} />
        {!problem && <ProblemNote error={error} />}
      </form>
    </Dialog>
  );
}
