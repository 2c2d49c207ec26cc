import type { Answer } from '@cadiz/contract';
import { useInfiniteQuery, useMutation } from '@tanstack/react-query';
import { RotateCw } from 'lucide-react';
import { useState } from 'react';
import { call } from '../../api.ts';
import { Button } from '../../components/button.tsx';
import { Badge, Moment, ScrollFrame, Skeleton, type Tone } from '../../components/parts.tsx';
import { ProblemNote } from '../../components/problem.tsx';
import { toast, toastError } from '../../components/toast.tsx';
import { formatMoment } from '../../format.ts';
import { queryClient } from '../../queries.ts';
import { later } from '../../text/later.ts';
import { text } from '../../text/text.ts';
import type { Webhook } from './webhook.ts';

const { webhooks } = later;

type Delivery = Answer<'listDeliveries'>['deliveries'][number];

const tones: Record<Delivery['state'], Tone> = { pending: 'warn', delivered: 'ok', failed: 'bad' };

/** How often it is looked what has become of deliveries, while they are shown. */
const everyMilliseconds = 5000;

/** What was sent to an endpoint, and what it answered: all, or what has failed. */
export function Deliveries({ webhook: { projectId, id, enabled } }: { webhook: Webhook }) {
  const [isFailed, setFailed] = useState(false);
  const query = useInfiniteQuery({
    queryKey: ['deliveries', id, isFailed],
    initialPageParam: null as string | null,
    queryFn: ({ pageParam }) =>
      call('listDeliveries', {
        ...{ projectId, id, limit: '50' },
        ...(pageParam !== null && { cursor: pageParam }),
        ...(isFailed && { state: 'failed' as const }),
      }),
    getNextPageParam: ({ nextCursor }) => nextCursor,
    refetchInterval: everyMilliseconds,
  });
  const rows = query.data?.pages.flatMap(({ deliveries }) => deliveries) ?? [];
  return (
    <div className="stack g3">
      <fieldset className="segs">
        <legend className="sr">{webhooks.deliveries}</legend>
        {[false, true].map((failed) => (
          <button
            key={String(failed)}
            type="button"
            aria-pressed={isFailed === failed}
            onClick={() => setFailed(failed)}
          >
            {failed ? webhooks.failed : webhooks.all}
          </button>
        ))}
      </fieldset>
      <ProblemNote error={query.error} />
      {query.isPending && <Skeleton rows={3} />}
      {query.isSuccess && rows.length === 0 && <p className="quiet">{webhooks.noDeliveries}</p>}
      {rows.length > 0 && (
        <ScrollFrame label={webhooks.deliveries} className="">
          <table className="table">
            <thead>
              <tr>
                {[webhooks.event, webhooks.state, webhooks.answer, webhooks.tries, webhooks.when].map((head) => (
                  <th key={head}>{head}</th>
                ))}
                <th>
                  <span className="sr">{text.common.more}</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {rows.map((row) => (
                <Row
                  key={row.eventId}
                  delivery={row}
                  onReplay={enabled ? () => sendAgain(projectId, id, row) : undefined}
                />
              ))}
            </tbody>
          </table>
        </ScrollFrame>
      )}
      {query.hasNextPage && (
        <Button busy={query.isFetchingNextPage} onClick={() => query.fetchNextPage()}>
          {webhooks.moreRows}
        </Button>
      )}
    </div>
  );
}

/** A test has no event to deliver again: another one is sent. */
async function sendAgain(projectId: string, id: string, { eventId, seq }: Delivery): Promise<void> {
  if (seq === 0) await call('testWebhook', { projectId, id });
  else await call('replayWebhook', { projectId, id, eventIds: [eventId] });
}

interface RowProps {
  delivery: Delivery;
  /** Undefined while the endpoint gets nothing. */
  onReplay: (() => Promise<void>) | undefined;
}

function Row({ delivery, onReplay }: RowProps) {
  const { type, at, state, status, durationMilliseconds, answer, error, attempts, lastAttemptAt, nextAttemptAt } =
    delivery;
  const { mutate, isPending } = useMutation({
    mutationFn: async () => onReplay?.(),
    onSuccess: () => {
      void toast(webhooks.replayed(1));
      void queryClient.invalidateQueries({ queryKey: ['deliveries'] });
    },
    onError: toastError,
  });
  const said = error ?? answer ?? '';
  return (
    <tr>
      <td>
        <span className="mono">{type}</span>
      </td>
      <td>
        <Badge tone={tones[state]}>{webhooks.deliveryStates[state]}</Badge>
        {nextAttemptAt && attempts > 0 && <small>{webhooks.next(formatMoment(nextAttemptAt))}</small>}
      </td>
      <td>
        <span className="num">{status ?? (error ? webhooks.noAnswer : '')}</span>
        {durationMilliseconds !== null && <span className="quiet num"> · {durationMilliseconds} ms</span>}
        {said !== '' && (
          <details>
            <summary className="mono cap clip">{said}</summary>
            <pre className="mono cap">{said}</pre>
          </details>
        )}
      </td>
      <td className="num">{attempts}</td>
      <td>
        <Moment at={lastAttemptAt} none="–" />
      </td>
      <td className="end">
        {onReplay && (
          <Button
            size="s"
            icon={RotateCw}
            aria-label={`${webhooks.sendAgain}: ${type}, ${formatMoment(at)}`}
            busy={isPending}
            onClick={() => mutate()}
          >
            {webhooks.sendAgain}
          </Button>
        )}
      </td>
    </tr>
  );
}
