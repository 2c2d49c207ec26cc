import type { Answer } from '@cadiz/contract';
import { queryOptions, useMutation, useQuery } from '@tanstack/react-query';
import { Monitor, Smartphone } from 'lucide-react';
import { call } from '../../api.ts';
import { Button } from '../../components/button.tsx';
import { Badge, Moment, Skeleton } from '../../components/parts.tsx';
import { ProblemNote } from '../../components/problem.tsx';
import { toast, toastError } from '../../components/toast.tsx';
import { formatMoment } from '../../format.ts';
import { queryClient } from '../../queries.ts';
import { later } from '../../text/later.ts';
import { browserOf } from './browser-of.ts';
import { Row } from './row.tsx';

type Session = Answer<'listSessions'>['sessions'][number];

const sessionsQuery = queryOptions({
  queryKey: ['sessions'],
  queryFn: async () => (await call('listSessions', {})).sessions,
});

const readAgain = () => queryClient.invalidateQueries({ queryKey: sessionsQuery.queryKey });

/** Where one is signed in, this browser first. */
export function Sessions() {
  const { data, error } = useQuery(sessionsQuery);
  const { account } = later;
  const endOthers = useMutation({
    mutationFn: () => call('endOtherSessions', {}),
    onError: toastError,
    onSuccess: async ({ endedSessions }) => {
      toast(account.sessionsEnded(endedSessions));
      await readAgain();
    },
  });
  const sessions = data?.toSorted((a, b) => Number(b.current) - Number(a.current));
  return (
    <section className="set">
      <div>
        <h2>{account.sessionsTitle}</h2>
        <p>{account.sessionsLead}</p>
      </div>
      <div className="fields">
        <ProblemNote error={error} />
        {!sessions && !error && <Skeleton rows={2} />}
        {sessions && (
          <div className="panel frame">
            {sessions.map((session) => (
              <SessionRow key={session.id} session={session} />
            ))}
          </div>
        )}
        {sessions && sessions.length > 1 && (
          <div>
            <Button busy={endOthers.isPending} onClick={() => endOthers.mutate()}>
              {account.endOthers}
            </Button>
          </div>
        )}
      </div>
    </section>
  );
}

function SessionRow({ session }: { session: Session }) {
  const { account } = later;
  const end = useMutation({
    mutationFn: () => call('endSession', { sessionId: session.id }),
    onError: toastError,
    onSuccess: async () => {
      toast(account.sessionsEnded(1));
      await readAgain();
    },
  });
  const { browser, system } = browserOf(session.userAgent ?? '');
  const name = account.browserOn(browser ?? account.unknownBrowser, system);
  const isPhone = system === 'iOS' || system === 'Android';
  return (
    <Row
      icon={isPhone ? Smartphone : Monitor}
      title={name}
      badge={session.current && <Badge tone="live">{account.thisOne}</Badge>}
      detail={
        <>
          {session.ipAddress && <>{session.ipAddress} · </>}
          {account.signedInAt} <Moment at={session.createdAt} />
        </>
      }
      action={
        !session.current && (
          <Button
            size="s"
            aria-label={`${account.endNamed(name)}: ${formatMoment(session.createdAt)}`}
            busy={end.isPending}
            onClick={() => end.mutate()}
          >
            {account.end}
          </Button>
        )
      }
    />
  );
}
