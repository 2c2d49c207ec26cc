import type { Input } from '@cadiz/contract';
import { codeOf } from '../../api.ts';
import { Check, Field } from '../../components/field.tsx';
import { messageOf, problemOf } from '../../components/problem.tsx';
import { later } from '../../text/later.ts';
import type { Fields } from '../entry/form.ts';
import type { Webhook } from './webhook.ts';

const { webhooks } = later;

type Types = NonNullable<Input<'createWebhook'>['types']>;

/** An endpoint as it stands in the fields. */
export function toEndpoint({ url = '', types = '', description = '', ordered }: Fields) {
  // The service says which of these are not types.
  const listed = types.split(/[\s,]+/).filter((type) => type !== '') as Types;
  return {
    url,
    types: listed.length > 0 ? listed : null,
    description: description.trim() === '' ? null : description.trim(),
    ordered: ordered !== undefined,
  };
}

/** Why the URL is refused: it is not valid, or the service does not send to its address. */
const problemOfUrl = (error: unknown) =>
  codeOf(error) === 'webhook_address_refused' ? messageOf(error) : problemOf(error, 'url');

/** Where an endpoint is, and what it gets. @param webhook as it is now; undefined for a new one */
export function WebhookFields({ webhook, error }: { webhook?: Webhook; error: unknown }) {
  return (
    <>
      <Field
        label={webhooks.url}
        name="url"
        type="url"
        defaultValue={webhook?.url}
        placeholder="https://app.example.com/hooks/cadiz"
        required
        hint={webhooks.urlHint}
        problem={problemOfUrl(error)}
      />
      <Field
        label={webhooks.description}
        name="description"
        defaultValue={webhook?.description ?? undefined}
        hint={webhooks.descriptionHint}
        problem={problemOf(error, 'description')}
      />
      <Field
        label={webhooks.types}
        name="types"
        defaultValue={webhook?.types?.join(', ')}
        placeholder={webhooks.everyType}
        hint={webhooks.typesHint}
        problem={problemOf(error, 'types')}
      />
      <Check name="ordered" defaultChecked={webhook?.ordered} label={webhooks.ordered} hint={webhooks.orderedHint} />
    </>
  );
}
