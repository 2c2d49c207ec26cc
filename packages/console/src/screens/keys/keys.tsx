import type { ApiKey } from '@cadiz/client';
import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { KeyRound, Plus, Search } from 'lucide-react';
import { lazy, Suspense, useState } from 'react';
import { Button } from '../../components/button.tsx';
import { Empty, Skeleton } from '../../components/parts.tsx';
import { ProblemNote } from '../../components/problem.tsx';
import { onceReachable } from '../../once-reachable.ts';
import { membersQuery, useRole } from '../../queries.ts';
import { text } from '../../text/text.ts';
import { useQueue } from '../../use-queue.ts';
import { Page } from '../page.tsx';
import { toNameKey } from '../uploads/names.ts';
import { isEnded } from './expiry.tsx';
import { KeySecret, type NewKey } from './key-secret.tsx';
import { type About, KeyTable } from './key-table.tsx';
import { keysQuery } from './keys-query.ts';
import { Quarantines } from './quarantines.tsx';

const CreateKey = lazy(onceReachable(async () => ({ default: (await import('./create-key.tsx')).CreateKey })));
const RotateKey = lazy(onceReachable(async () => ({ default: (await import('./rotate-key.tsx')).RotateKey })));
const RevokeKey = lazy(onceReachable(async () => ({ default: (await import('./revoke-key.tsx')).RevokeKey })));
const KeyUploads = lazy(onceReachable(async () => ({ default: (await import('./key-uploads.tsx')).KeyUploads })));
const LeakDialog = lazy(onceReachable(async () => ({ default: (await import('./leak-dialog.tsx')).LeakDialog })));

/** How many keys are looked through without help. */
const many = 8;

/** Whether words name a key: by a part of its name, by its last characters, or by the whole secret. */
function isMeant({ name, last4 }: ApiKey, words: string): boolean {
  const wanted = words.trim();
  return toNameKey(name).includes(toNameKey(wanted)) || wanted.endsWith(last4);
}

type Asked = { about: 'create' } | { about: About; key: ApiKey };

/** The keys of a project; for viewers, their own that they may still revoke. */
export function Keys() {
  const { projectId = '' } = useParams({ strict: false });
  const { isSuccess: isKnown, error: membersError } = useQuery(membersQuery(projectId));
  const mayManage = useRole(projectId) !== 'viewer';
  const query = useQuery({ ...keysQuery(projectId, mayManage), enabled: isKnown });
  const [words, setWords] = useState('');
  const [asked, setAsked] = useState<Asked>();
  const created = useQueue<NewKey>();
  const { keys } = text;
  const all = query.data ?? [];
  const found = all.filter((key) => isMeant(key, words));
  const active = found.filter((key) => !isEnded(key));
  const ended = found.filter(isEnded);
  const table = { projectId, mayManage, onAsk: (about: About, key: ApiKey) => setAsked({ about, key }) };
  const isNone = query.isSuccess && !all.some((key) => !isEnded(key));
  return (
    <Page
      title={text.nav.keys}
      lead={mayManage || all.length === 0 ? keys.lead : keys.yours}
      actions={
        <>
          {all.length > many && (
            <label className="input m soft search-field">
              <Search className="i s" aria-hidden="true" />
              <input
                type="search"
                value={words}
                aria-label={keys.find}
                placeholder={keys.find}
                onChange={({ target }) => setWords(target.value)}
              />
            </label>
          )}
          {mayManage && (
            <Button look="main" icon={Plus} onClick={() => setAsked({ about: 'create' })}>
              {keys.create}
            </Button>
          )}
        </>
      }
    >
      <ProblemNote
        error={membersError ?? query.error}
        action={<Button onClick={() => query.refetch()}>{text.common.retry}</Button>}
      />
      {!mayManage && isKnown && <Empty icon={KeyRound} title={keys.forEditors} hint={keys.forEditorsHint} />}
      {query.isPending && !query.error && !membersError && <Skeleton />}
      {mayManage && isNone && <Empty icon={KeyRound} title={keys.none} hint={keys.noneHint} />}
      {all.length > 0 && found.length === 0 && (
        <Empty icon={Search} title={keys.noneFound(words)} hint={keys.noneFoundHint} />
      )}
      {active.length > 0 && <KeyTable {...table} keys={active} />}
      {ended.length > 0 && (
        <details open={words !== '' || undefined}>
          <summary>{keys.ended(ended.length)}</summary>
          <KeyTable {...table} keys={ended} />
        </details>
      )}
      {mayManage && <Quarantines projectId={projectId} keys={all} />}
      <Suspense>
        {asked && (
          <Question asked={asked} projectId={projectId} onClose={() => setAsked(undefined)} onCreated={created.add} />
        )}
      </Suspense>
      {created.first !== undefined && !asked && (
        <KeySecret key={created.first.secret} projectId={projectId} created={created.first} onClose={created.next} />
      )}
    </Page>
  );
}

interface QuestionProps {
  asked: Asked;
  projectId: string;
  onClose: () => void;
  onCreated: (created: NewKey) => void;
}

/** The dialog that is open. */
function Question({ asked, projectId, onClose, onCreated }: QuestionProps) {
  const dialog = { projectId, onClose };
  switch (asked.about) {
    case 'create':
      return <CreateKey {...dialog} onCreated={onCreated} />;
    case 'rotate':
      return <RotateKey {...dialog} apiKey={asked.key} onRotated={onCreated} />;
    case 'revoke':
      return <RevokeKey {...dialog} apiKey={asked.key} />;
    case 'uploads':
      return <KeyUploads {...dialog} apiKey={asked.key} />;
    case 'leak':
      return <LeakDialog {...dialog} apiKey={asked.key} />;
  }
}
