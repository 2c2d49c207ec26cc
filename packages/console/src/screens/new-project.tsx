import { useSuspenseQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { call } from '../api.ts';
import { Field } from '../components/field.tsx';
import { ProblemNote, problemOf } from '../components/problem.tsx';
import { projectsQuery, queryClient } from '../queries.ts';
import { text } from '../text/text.ts';
import { Entry } from './entry/entry.tsx';
import { useForm } from './entry/form.ts';
import { Steps } from './entry/steps.tsx';
import { Submit } from './entry/submit.tsx';

/** The first project is the second step of setting up. */
export function NewProject() {
  const { data: projects } = useSuspenseQuery(projectsQuery);
  const navigate = useNavigate();
  const isFirst = projects.length === 0;
  const { onSubmit, error, isPending } = useForm(async ({ name = '' }, isThere) => {
    const { id } = await call('createProject', { name });
    await queryClient.invalidateQueries({ queryKey: projectsQuery.queryKey });
    // Whoever has gone elsewhere meanwhile stays there.
    if (isThere()) await navigate({ to: '/projects/$projectId/files', params: { projectId: id } });
  });
  const { setup } = text;
  return (
    <Entry
      title={isFirst ? setup.firstProject : setup.projectTitle}
      lead={setup.projectLead}
      above={isFirst && <Steps current={1} />}
    >
      <form className="stack g4" onSubmit={onSubmit}>
        <Field
          label={setup.projectName}
          name="name"
          placeholder={setup.projectExample}
          maxLength={200}
          required
          autoFocus
          hint={setup.projectHint}
          problem={problemOf(error, 'name')}
        />
        <ProblemNote error={error} />
        <Submit isPending={isPending}>{setup.createProject}</Submit>
      </form>
      {!isFirst && <Link to="/projects">{text.common.cancel}</Link>}
    </Entry>
  );
}
