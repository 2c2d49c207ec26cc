import type { Scope } from '@cadiz/client';
import { useSuspenseQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { call } from '../../api.ts';
import { Check, Field, Select } from '../../components/field.tsx';
import { ProblemNote, problemOf } from '../../components/problem.tsx';
import { projectsQuery, sessionQuery } from '../../queries.ts';
import { text } from '../../text/text.ts';
import { expiryOf, ScopeChecks, usualScopes } from '../keys/key-terms.tsx';
import { SecretDialog } from '../keys/secret-dialog.tsx';
import { Entry } from './entry.tsx';
import { useForm } from './form.ts';
import { Submit } from './submit.tsx';
import { takeToken } from './token.ts';

const lifetimes = ['month', 'quarter', 'year', 'never'] as const;

/** Where the command listens on this machine, and what the machine is called. */
interface Waiting {
  address: string | undefined;
  machine: string;
}

/** @param fragment a port, a path that only the command knows, and a name: `43121.Zm9v….laptop` */
function readWaiting(fragment: string): Waiting {
  const [, port, state, name = ''] = /^(\d{4,5})\.([\w-]{22,64})\.([^.].*)?$/.exec(fragment) ?? [];
  const isPort = Number(port) >= 1024 && Number(port) <= 65_535;
  let machine = '';
  try {
    machine = decodeURIComponent(name).slice(0, 100);
  } catch {
    // No name, then.
  }
  return { address: isPort && state ? `http://127.0.0.1:${port}/${state}` : undefined, machine };
}

/** What `cadiz login` opens: creates a key, which goes straight to the command on this machine. */
export function Command() {
  const [{ address, machine }] = useState(() => readWaiting(takeToken()));
  const { data: session } = useSuspenseQuery(sessionQuery);
  const { data: projects } = useSuspenseQuery(projectsQuery);
  const [projectId, setProjectId] = useState(projects[0]?.id ?? '');
  const [chosen, setChosen] = useState<readonly Scope[]>(usualScopes);
  const [lifetime, setLifetime] = useState<(typeof lifetimes)[number]>('quarter');
  const [isElsewhere, setElsewhere] = useState(address === undefined);
  const [secret, setSecret] = useState<string>();
  const [isDone, setDone] = useState(false);
  const { command, keys } = text;
  const create = useForm(async ({ name = '' }) => {
    const expiresAt = expiryOf(lifetime, '');
    const { key } = await call('createApiKey', { name, projectId, folderId: null, scopes: [...chosen], expiresAt });
    if (isElsewhere || !address) return setSecret(key);
    // In the fragment, which no server gets to see; the page of the command takes it out of the history.
    location.assign(`${address}#${key}`);
  });
  if (isDone) return <Entry title={command.title} lead={command.done} children={null} />;
  if (projects.length === 0)
    return (
      <Entry title={command.title} lead={command.noProject}>
        <Link to="/projects/new">{command.createProject}</Link>
      </Entry>
    );
  return (
    <Entry title={command.title} lead={`${command.lead} ${session ? command.as(session.user.email) : ''}`}>
      <form className="stack g4" onSubmit={create.onSubmit}>
        <ProblemNote error={problemOf(create.error, 'name') ? null : create.error} />
        <Field
          label={keys.name}
          name="name"
          defaultValue={command.nameOn(machine)}
          maxLength={200}
          required
          problem={problemOf(create.error, 'name')}
        />
        <Select
          label={command.project}
          value={projectId}
          options={projects.map(({ id, name }) => ({ value: id, label: name }))}
          onChange={setProjectId}
        />
        <ScopeChecks chosen={chosen} onChange={setChosen} />
        <Select
          label={keys.expires}
          value={lifetime}
          options={lifetimes.map((value) => ({ value, label: keys.lifetimes[value] }))}
          onChange={setLifetime}
        />
        <Check
          label={command.elsewhere}
          hint={command.elsewhereHint}
          checked={isElsewhere}
          disabled={address === undefined}
          onChange={({ target }) => setElsewhere(target.checked)}
        />
        <Submit isPending={create.isPending} disabled={chosen.length === 0}>
          {command.submit}
        </Submit>
      </form>
      {secret && (
        <SecretDialog
          title={keys.created}
          lead={command.paste}
          leaving={keys.leaving}
          secret={secret}
          onClose={() => setDone(true)}
        />
      )}
    </Entry>
  );
}
