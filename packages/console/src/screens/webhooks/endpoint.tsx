import { useMutation } from '@tanstack/react-query';
import {
  ChevronDown,
  ChevronUp,
  Ellipsis,
  Pause,
  PencilLine,
  Play,
  RefreshCw,
  RotateCw,
  Send,
  Trash2,
} from 'lucide-react';
import { lazy, Suspense } from 'react';
import { call } from '../../api.ts';
import { now } from '../../clock.ts';
import { Button, IconButton } from '../../components/button.tsx';
import { Menu } from '../../components/menu.tsx';
import { Badge } from '../../components/parts.tsx';
import { toast, toastError } from '../../components/toast.tsx';
import { formatMoment } from '../../format.ts';
import { onceReachable } from '../../once-reachable.ts';
import { queryClient } from '../../queries.ts';
import { later } from '../../text/later.ts';
import type { Webhook } from './webhook.ts';
import './webhooks.css';

const { webhooks } = later;

const Deliveries = lazy(onceReachable(async () => ({ default: (await import('./deliveries.tsx')).Deliveries })));

interface EndpointProps {
  webhook: Webhook;
  isOpen: boolean;
  onToggle: () => void;
  onEdit: () => void;
  onRotate: () => void;
  onDelete: () => void;
}

/** How an endpoint is, in a word, and what there is to know of that. */
function stateOf({ enabled, disabledReason, disabledAt, failingSince }: Webhook) {
  const { states } = webhooks;
  if (!enabled) {
    const word = disabledReason === null ? states.off : states[disabledReason];
    return { tone: disabledReason === null ? '' : 'bad', word, since: disabledAt } as const;
  }
  if (failingSince !== null) return { tone: 'warn', word: states.troubled, since: failingSince } as const;
  return { tone: 'ok', word: states.on, since: null } as const;
}

/** How far back what was missed is delivered again: as long as events are usually kept. */
const missedMilliseconds = 30 * 86_400_000;

/** One endpoint, what can be done with it, and its deliveries. */
export function Endpoint({ webhook, isOpen, onToggle, onEdit, onRotate, onDelete }: EndpointProps) {
  const { id, projectId, url, types, ordered, enabled, description } = webhook;
  const state = stateOf(webhook);
  const { mutate, isPending } = useMutation({
    mutationFn: (run: () => Promise<string>) => run(),
    onSuccess: (message) => {
      void toast(message);
      void queryClient.invalidateQueries({ queryKey: ['webhooks', projectId] });
      void queryClient.invalidateQueries({ queryKey: ['deliveries', id] });
    },
    onError: toastError,
  });
  const test = () =>
    mutate(async () => {
      await call('testWebhook', { projectId, id });
      return webhooks.tested;
    });
  const enable = () =>
    mutate(async () => {
      await call('changeWebhook', { projectId, id, enabled: !enabled });
      return enabled ? webhooks.paused : webhooks.resumed;
    });
  const replay = () =>
    mutate(async () => {
      const failedSince = new Date(now() - missedMilliseconds).toISOString();
      return webhooks.replayed((await call('replayWebhook', { projectId, id, failedSince })).events);
    });
  const More = isOpen ? ChevronUp : ChevronDown;
  return (
    <section className="panel frame hook" aria-label={url}>
      <header className="line wrap g3">
        <div className="grow">
          <h2 className="clip">
            <bdi>{url}</bdi>
          </h2>
          <p className="cap quiet clip">
            {description !== null && <bdi>{`${description} · `}</bdi>}
            {types === null ? webhooks.everyType : types.join(', ')}
            {ordered && ` · ${webhooks.inOrder}`}
          </p>
        </div>
        <Badge tone={state.tone}>
          {state.word}
          {state.since && ` · ${formatMoment(state.since)}`}
        </Badge>
        <span className="line wrap">
          <Button
            icon={Send}
            aria-label={`${webhooks.test}: ${url}`}
            busy={isPending}
            disabled={!enabled}
            onClick={test}
          >
            {webhooks.test}
          </Button>
          <Button
            look="ghost"
            icon={More}
            aria-label={`${webhooks.deliveries}: ${url}`}
            aria-expanded={isOpen}
            onClick={onToggle}
          >
            {webhooks.deliveries}
          </Button>
          <Menu
            align="end"
            trigger={<IconButton icon={Ellipsis} label={webhooks.moreOf(url)} />}
            actions={[
              { label: webhooks.edit, icon: PencilLine, run: onEdit },
              { label: enabled ? webhooks.pause : webhooks.resume, icon: enabled ? Pause : Play, run: enable },
              { label: webhooks.replay, icon: RotateCw, isOff: !enabled, run: replay },
              { label: webhooks.rotate, icon: RefreshCw, run: onRotate },
              { label: webhooks.delete, icon: Trash2, isBad: true, isNewGroup: true, run: onDelete },
            ]}
          />
        </span>
      </header>
      {isOpen && (
        <Suspense>
          <Deliveries webhook={webhook} />
        </Suspense>
      )}
    </section>
  );
}
