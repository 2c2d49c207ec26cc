import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { Plus, Webhook as WebhookIcon } from 'lucide-react';
import { lazy, Suspense, useState } from 'react';
import { call } from '../../api.ts';
import { Button } from '../../components/button.tsx';
import { Empty, Skeleton } from '../../components/parts.tsx';
import { ProblemNote } from '../../components/problem.tsx';
import { onceReachable } from '../../once-reachable.ts';
import { membersQuery, queryClient, useRole } from '../../queries.ts';
import { later } from '../../text/later.ts';
import { text } from '../../text/text.ts';
import { useQueue } from '../../use-queue.ts';
import { SecretDialog } from '../keys/secret-dialog.tsx';
import { Page } from '../page.tsx';
import { Endpoint } from './endpoint.tsx';
import type { Webhook } from './webhook.ts';

const { webhooks } = later;

const CreateWebhook = lazy(
  onceReachable(async () => ({ default: (await import('./create-webhook.tsx')).CreateWebhook })),
);
const EditWebhook = lazy(onceReachable(async () => ({ default: (await import('./edit-webhook.tsx')).EditWebhook })));
const RotateWebhook = lazy(
  onceReachable(async () => ({ default: (await import('./rotate-webhook.tsx')).RotateWebhook })),
);
const DeleteWebhook = lazy(
  onceReachable(async () => ({ default: (await import('./delete-webhook.tsx')).DeleteWebhook })),
);

/** What is asked for about one endpoint. */
interface Question {
  kind: 'create' | 'edit' | 'rotate' | 'delete';
  webhook?: Webhook;
}

/** The webhook endpoints of a project with their deliveries, the newest first. */
export function Webhooks() {
  const { projectId = '' } = useParams({ strict: false });
  const { isSuccess: isKnown, error: membersError } = useQuery(membersQuery(projectId));
  const isOwner = useRole(projectId) === 'owner';
  const query = useQuery({
    queryKey: ['webhooks', projectId],
    queryFn: async () => (await call('listWebhooks', { projectId })).webhooks,
    enabled: isOwner,
  });
  const [question, setQuestion] = useState<Question>();
  const secrets = useQueue<string>();
  const [opened, setOpened] = useState<string>();
  const error = membersError ?? query.error;
  const close = () => setQuestion(undefined);
  async function show(created: { secret: string }) {
    secrets.add(created.secret);
    await queryClient.invalidateQueries({ queryKey: ['webhooks', projectId] });
  }
  return (
    <Page
      title={text.nav.webhooks}
      lead={webhooks.lead}
      actions={
        isOwner && (
          <Button look="main" icon={Plus} onClick={() => setQuestion({ kind: 'create' })}>
            {webhooks.create}
          </Button>
        )
      }
    >
      <ProblemNote error={error} action={<Button onClick={() => query.refetch()}>{text.common.retry}</Button>} />
      {!isOwner && isKnown && <Empty icon={WebhookIcon} title={webhooks.forOwners} hint={webhooks.forOwnersHint} />}
      {query.isPending && !error && (isOwner || !isKnown) && <Skeleton />}
      {query.data?.length === 0 && <Empty icon={WebhookIcon} title={webhooks.none} hint={webhooks.noneHint} />}
      {query.data?.map((webhook) => (
        <Endpoint
          key={webhook.id}
          webhook={webhook}
          isOpen={opened === webhook.id}
          onToggle={() => setOpened(opened === webhook.id ? undefined : webhook.id)}
          onEdit={() => setQuestion({ kind: 'edit', webhook })}
          onRotate={() => setQuestion({ kind: 'rotate', webhook })}
          onDelete={() => setQuestion({ kind: 'delete', webhook })}
        />
      ))}
      <Suspense>
        {question?.kind === 'create' && <CreateWebhook projectId={projectId} onClose={close} onCreated={show} />}
        {question?.kind === 'edit' && question.webhook && <EditWebhook webhook={question.webhook} onClose={close} />}
        {question?.kind === 'rotate' && question.webhook && (
          <RotateWebhook webhook={question.webhook} onClose={close} onRotated={show} />
        )}
        {question?.kind === 'delete' && question.webhook && (
          <DeleteWebhook webhook={question.webhook} onClose={close} />
        )}
      </Suspense>
      {secrets.first && !question && (
        <SecretDialog
          key={secrets.first}
          title={webhooks.secret}
          lead={webhooks.secretLead}
          leaving={webhooks.leaving}
          secret={secrets.first}
          onClose={secrets.next}
        >
          <p className="cap quiet">{webhooks.secretHint}</p>
        </SecretDialog>
      )}
    </Page>
  );
}
