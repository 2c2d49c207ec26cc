import type { Link } from '@cadiz/client';
import { useMutation, useQuery } from '@tanstack/react-query';
import { Ban } from 'lucide-react';
import { useState } from 'react';
import { clientOf } from '../../api.ts';
import { copyText } from '../../clipboard.ts';
import { Button, IconButton } from '../../components/button.tsx';
import { CopyButton } from '../../components/copy-button.tsx';
import { Select } from '../../components/field.tsx';
import { Badge } from '../../components/parts.tsx';
import { ProblemNote } from '../../components/problem.tsx';
import { toast } from '../../components/toast.tsx';
import { formatMoment } from '../../format.ts';
import { queryClient, useRole } from '../../queries.ts';
import { text } from '../../text/text.ts';

const hours = { hour: 1, day: 24, week: 7 * 24, month: 30 * 24, never: undefined } as const;
type Lifetime = keyof typeof hours;

/** The links of a file that anybody can open, until they end or are revoked. */
export function Links({ projectId, fileId }: { projectId: string; fileId: string }) {
  const { links } = clientOf(projectId);
  const { links: words } = text;
  const queryKey = ['links', fileId];
  const mayShare = useRole(projectId) !== 'viewer';
  const [lifetime, setLifetime] = useState<Lifetime>('week');
  const query = useQuery({ queryKey, queryFn: async () => (await links.page({ fileId, limit: 100 })).items });
  const reload = () => queryClient.invalidateQueries({ queryKey });
  const create = useMutation({
    mutationFn: async () => {
      const duration = hours[lifetime];
      const expiresAt = duration === undefined ? undefined : new Date(Date.now() + duration * 3600_000).toISOString();
      const { url } = await links.create(fileId, { disposition: 'inline', ...(expiresAt && { expiresAt }) });
      await copyText(url);
      void toast(words.copied);
    },
    onSettled: reload,
  });
  const revoke = useMutation({ mutationFn: (id: string) => links.delete(id), onSettled: reload });
  const options = (Object.keys(hours) as Lifetime[]).map((value) => ({ value, label: words.lifetimes[value] }));
  return (
    <section className="stack g3">
      <h3>{words.title}</h3>
      <ProblemNote error={query.error ?? create.error ?? revoke.error} />
      {query.data?.length === 0 && <p className="quiet">{words.none}</p>}
      <ul className="stack g2">
        {query.data?.map((link) => (
          <Row key={link.id} link={link} onRevoke={mayShare ? () => revoke.mutate(link.id) : undefined} />
        ))}
      </ul>
      {mayShare && (
        <>
          <Select label={words.lifetime} value={lifetime} options={options} onChange={setLifetime} />
          <Button busy={create.isPending} onClick={() => create.mutate()}>
            {words.create}
          </Button>
        </>
      )}
    </section>
  );
}

function Row({ link, onRevoke }: { link: Link; onRevoke: (() => void) | undefined }) {
  const { links: words } = text;
  return (
    <li className="line">
      <span className="grow clip mono" title={link.url}>
        {link.url}
      </span>
      <Badge tone={link.state === 'active' ? '' : 'warn'}>
        {link.state !== 'active'
          ? words[link.state]
          : link.expiresAt === null
            ? words.lifetimes.never
            : words.until(formatMoment(link.expiresAt))}
      </Badge>
      <CopyButton value={link.url} label={words.copy} />
      {onRevoke && <IconButton icon={Ban} size="s" label={words.revoke} onClick={onRevoke} />}
    </li>
  );
}
