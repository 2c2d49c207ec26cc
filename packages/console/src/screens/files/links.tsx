import type { Link } from '@cadiz/client';
import { useInfiniteQuery } from '@tanstack/react-query';
import { Ban, Copy } from 'lucide-react';
import { useState, useSyncExternalStore } from 'react';
import { clientOf } from '../../api.ts';
import { copyText } from '../../clipboard.ts';
import { everyMinute, now, readMinute } from '../../clock.ts';
import { Button, IconButton } from '../../components/button.tsx';
import { CopyButton } from '../../components/copy-button.tsx';
import { Field, Select } from '../../components/field.tsx';
import { FormDialog } from '../../components/form-dialog.tsx';
import { Badge } from '../../components/parts.tsx';
import { ProblemNote } from '../../components/problem.tsx';
import { toast } from '../../components/toast.tsx';
import { formatExactly, formatMoment } from '../../format.ts';
import { queryClient, useRole } from '../../queries.ts';
import { text } from '../../text/text.ts';
import { useForm } from '../entry/form.ts';

type Disposition = Link['disposition'];

const hours = { hour: 1, day: 24, week: 7 * 24, month: 30 * 24 } as const;
type Lifetime = keyof typeof hours | 'never' | 'custom';
/** Those that are one click away, and the others. */
const usual: readonly Lifetime[] = ['hour', 'day', 'week'];
const others: readonly Lifetime[] = ['month', 'custom', 'never'];
const dispositions: readonly Disposition[] = ['inline', 'attachment'];

/** As `datetime-local` has it: in the zone of the reader, to the minute. */
function toLocal(at: Date): string {
  const shifted = new Date(at.getTime() - at.getTimezoneOffset() * 60_000);
  return shifted.toISOString().slice(0, 16);
}

const after = (duration: number) => new Date(now() + duration * 3600_000);

/** The links of a file that anybody can open, until they end or are revoked. */
export function Links({ projectId, fileId }: { projectId: string; fileId: string }) {
  const { links } = clientOf(projectId);
  const { links: words } = text;
  const queryKey = ['links', fileId];
  const mayShare = useRole(projectId) !== 'viewer';
  const [revoked, setRevoked] = useState<Link>();
  const query = useInfiniteQuery({
    queryKey,
    initialPageParam: null as string | null,
    queryFn: ({ pageParam }) => links.page({ fileId, limit: 100, cursor: pageParam }),
    getNextPageParam: ({ nextCursor }) => nextCursor,
  });
  const shown = query.data?.pages.flatMap(({ items }) => items) ?? [];
  const reload = () => queryClient.invalidateQueries({ queryKey });
  /** It is copied as soon as it is there. */
  async function create(terms: Terms) {
    const created = links.create(fileId, terms);
    const copied = copyText(created.then(({ url }) => url)).then(
      () => words.copied,
      () => text.common.copyFailed,
    );
    try {
      await created;
    } finally {
      void reload();
    }
    void toast(await copied);
  }
  return (
    <section className="stack g3">
      <h3>{mayShare ? words.share : words.title}</h3>
      {mayShare && <LinkForm submit={words.create} toHint={words.who} send={create} />}
      <ProblemNote error={query.error} action={<Button onClick={() => query.refetch()}>{text.common.retry}</Button>} />
      {query.isSuccess && shown.length === 0 && <p className="quiet">{words.none}</p>}
      {shown.length > 0 && (
        <ul className="stack g3">
          {shown.map((link) => (
            <Row key={link.id} link={link} onRevoke={mayShare ? () => setRevoked(link) : undefined} />
          ))}
        </ul>
      )}
      {query.hasNextPage && (
        <Button busy={query.isFetchingNextPage} onClick={() => query.fetchNextPage()}>
          {text.files.moreRows}
        </Button>
      )}
      {revoked && (
        <FormDialog
          title={words.revokeTitle}
          lead={words.revokeLead}
          submit={words.revoke}
          isDanger
          send={async (_, close) => {
            await links.delete(revoked.id);
            close();
            void reload();
          }}
          onClose={() => setRevoked(undefined)}
        >
          {() => <p className="mono wrap-any">{revoked.url}</p>}
        </FormDialog>
      )}
    </section>
  );
}

/** How long links work, and what they do. */
export interface Terms {
  disposition: Disposition;
  /** Undefined for links that work until they are revoked. */
  expiresAt?: string;
}

interface LinkFormProps {
  /** The word on its button. */
  submit: string;
  /** Says until when links work; undefined: until they are revoked. */
  toHint: (end: string | undefined) => string;
  send: (terms: Terms, isThere: () => boolean) => Promise<void>;
}

/** Asks how long new links work, and what they do. */
export function LinkForm({ submit, toHint, send }: LinkFormProps) {
  const { links: words } = text;
  const [lifetime, setLifetime] = useState<Lifetime>('week');
  const [until, setUntil] = useState('');
  const [disposition, setDisposition] = useState<Disposition>('inline');
  useSyncExternalStore(everyMinute, readMinute);
  const isOther = !usual.includes(lifetime);
  const toEnd = () =>
    lifetime === 'never' ? undefined : lifetime === 'custom' ? new Date(until) : after(hours[lifetime]);
  const { onSubmit, error, isPending } = useForm(async (_, isThere) => {
    const expiresAt = toEnd()?.toISOString();
    await send({ disposition, ...(expiresAt && { expiresAt }) }, isThere);
  });
  function choose(chosen: Lifetime) {
    setLifetime(chosen);
    if (chosen === 'custom' && until === '') setUntil(toLocal(after(hours.day)));
  }
  const end = toEnd();
  // While a date is typed, there may be none.
  const ends = end && !Number.isNaN(end.getTime()) ? formatMoment(end.toISOString()) : undefined;
  return (
    <form className="stack g3" onSubmit={onSubmit}>
      <fieldset className="segs wide" aria-label={words.lifetime}>
        {usual.map((one) => (
          <button key={one} type="button" aria-pressed={one === lifetime} onClick={() => choose(one)}>
            {words.lifetimes[one]}
          </button>
        ))}
        <button type="button" aria-pressed={isOther} onClick={() => choose(isOther ? lifetime : 'month')}>
          {words.other}
        </button>
      </fieldset>
      {isOther && (
        <Select
          isLabelHidden
          label={words.other}
          value={lifetime}
          options={others.map((value) => ({ value, label: words.lifetimes[value] }))}
          onChange={choose}
        />
      )}
      {lifetime === 'custom' && (
        <Field
          label={words.ends}
          type="datetime-local"
          required
          min={toLocal(after(0))}
          max="9999-12-30T00:00"
          value={until}
          onChange={({ target }) => setUntil(target.value)}
        />
      )}
      <Select
        label={words.disposition}
        value={disposition}
        options={dispositions.map((value) => ({ value, label: words.dispositions[value] }))}
        onChange={setDisposition}
      />
      <ProblemNote error={error} />
      <Button look="main" type="submit" icon={Copy} busy={isPending}>
        {submit}
      </Button>
      <p className="cap quiet">{toHint(ends)}</p>
    </form>
  );
}

function Row({ link, onRevoke }: { link: Link; onRevoke: (() => void) | undefined }) {
  const { links: words } = text;
  const made = formatMoment(link.createdAt);
  return (
    <li>
      <span className="line">
        <span className="grow clip mono">{link.url}</span>
        <CopyButton value={link.url} label={`${words.copy}: ${made}`} />
        {onRevoke && <IconButton icon={Ban} size="s" label={`${words.revoke}: ${made}`} onClick={onRevoke} />}
      </span>
      <span className="line wrap cap quiet">
        <span>{words.dispositions[link.disposition]}</span>
        {link.state !== 'active' && <Badge tone="warn">{words[link.state]}</Badge>}
        {link.expiresAt === null ? (
          <span>{words.lifetimes.never}</span>
        ) : (
          <time className="num" dateTime={link.expiresAt} title={formatExactly(link.expiresAt)}>
            {words.until(formatMoment(link.expiresAt))}
          </time>
        )}
      </span>
    </li>
  );
}
