import { Field } from '../../components/field.tsx';
import { FormDialog } from '../../components/form-dialog.tsx';
import { problemOf } from '../../components/problem.tsx';
import { text } from '../../text/text.ts';
import { createFolder } from './commands.ts';

interface NewFolderProps {
  projectId: string;
  parentId: string | null;
  onClose: () => void;
}

export function NewFolder({ projectId, parentId, onClose }: NewFolderProps) {
  return (
    <FormDialog
      title={text.files.newFolder}
      submit={text.common.create}
      field="name"
      onClose={onClose}
      send={async ({ name = '' }, close) => {
        await createFolder(projectId, name, parentId);
        close();
      }}
    >
      {(error) => <Field label={text.files.folderName} name="name" required problem={problemOf(error, 'name')} />}
    </FormDialog>
  );
}
