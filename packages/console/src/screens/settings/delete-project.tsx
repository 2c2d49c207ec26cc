import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { call } from '../../api.ts';
import { Button } from '../../components/button.tsx';
import { Check, Field } from '../../components/field.tsx';
import { FormDialog } from '../../components/form-dialog.tsx';
import { toast } from '../../components/toast.tsx';
import { formatBytes } from '../../format.ts';
import { type Project, projectsQuery, queryClient, usageQuery } from '../../queries.ts';
import { later } from '../../text/later.ts';
import { text } from '../../text/text.ts';
import { isTyped, toVisible } from '../../typed.ts';

/** The end of a project, after its name has been typed. */
export function DeleteProject({ project }: { project: Project }) {
  const [isOpen, setOpen] = useState(false);
  const { data: usage } = useQuery(usageQuery(project.id));
  const { settings } = later;
  const content = usage && `${text.common.files(usage.fileCount)}, ${formatBytes(usage.totalBytes)}`;
  return (
    <section className="set">
      <div>
        <h2>{settings.deleteTitle}</h2>
        <p>{settings.deleteLead}</p>
      </div>
      <div className="fields">
        <div className="line">
          <span className="grow num">{content}</span>
          <Button onClick={() => setOpen(true)}>{settings.deleteProject}</Button>
        </div>
      </div>
      {isOpen && <DeleteDialog project={project} content={content} onClose={() => setOpen(false)} />}
    </section>
  );
}

interface DeleteDialogProps {
  project: Project;
  /** How much is stored in it, in words. */
  content: string | undefined;
  onClose: () => void;
}

function DeleteDialog({ project, content, onClose }: DeleteDialogProps) {
  const [typed, setTyped] = useState('');
  const navigate = useNavigate();
  const { settings } = later;
  const name = toVisible(project.name);
  return (
    <FormDialog
      title={settings.deleteNamed(name)}
      lead={content}
      submit={settings.deleteForGood}
      isDanger
      isOff={!isTyped(typed, name)}
      onClose={onClose}
      send={async ({ force }, close) => {
        await call('deleteProject', { projectId: project.id, ...(force === 'on' && { force: 'true' as const }) });
        toast(settings.deleted(name));
        // Whoever has gone elsewhere meanwhile stays there.
        if (close()) await navigate({ to: '/projects', ignoreBlocker: true });
        await queryClient.invalidateQueries({ queryKey: projectsQuery.queryKey });
      }}
    >
      {() => (
        <>
          <Check name="force" label={settings.force} hint={settings.forceHint} />
          <Field
            label={settings.typeName(name)}
            value={typed}
            autoComplete="off"
            onChange={({ target }) => setTyped(target.value)}
          />
        </>
      )}
    </FormDialog>
  );
}
