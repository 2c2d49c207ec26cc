import type { Answer } from '@cadiz/contract';
import { queryOptions, useQuery } from '@tanstack/react-query';
import { Ellipsis, Fingerprint, Plus } from 'lucide-react';
import { useState } from 'react';
import { call } from '../../api.ts';
import { Button, IconButton } from '../../components/button.tsx';
import { Field } from '../../components/field.tsx';
import { FormDialog } from '../../components/form-dialog.tsx';
import { Menu } from '../../components/menu.tsx';
import { Badge, Moment, Skeleton } from '../../components/parts.tsx';
import { ProblemNote, problemOf } from '../../components/problem.tsx';
import { toast } from '../../components/toast.tsx';
import { queryClient } from '../../queries.ts';
import { later } from '../../text/later.ts';
import { text } from '../../text/text.ts';
import { addPasskey } from '../entry/passkey.ts';
import { browserOf } from './browser-of.ts';
import { Row } from './row.tsx';

type Passkey = Answer<'listPasskeys'>['passkeys'][number];

const passkeysQuery = queryOptions({
  queryKey: ['passkeys'],
  queryFn: async () => (await call('listPasskeys', {})).passkeys,
});

const readAgain = () => queryClient.invalidateQueries({ queryKey: passkeysQuery.queryKey });

/** The passkeys of the account: add, rename, delete. */
export function Passkeys() {
  const { data: passkeys, error } = useQuery(passkeysQuery);
  const [isAdding, setAdding] = useState(false);
  const { account } = later;
  return (
    <section className="set">
      <div>
        <h2>{account.passkeysTitle}</h2>
        <p>{account.passkeysLead}</p>
      </div>
      <div className="fields">
        <ProblemNote error={error} />
        {!passkeys && !error && <Skeleton rows={1} />}
        {passkeys && passkeys.length > 0 && (
          <div className="panel frame">
            {passkeys.map((passkey) => (
              <PasskeyRow key={passkey.id} passkey={passkey} />
            ))}
          </div>
        )}
        <div>
          <Button icon={Plus} onClick={() => setAdding(true)}>
            {account.addPasskey}
          </Button>
        </div>
      </div>
      {isAdding && <AddPasskey onClose={() => setAdding(false)} />}
    </section>
  );
}

function PasskeyRow({ passkey }: { passkey: Passkey }) {
  const [open, setOpen] = useState<'rename' | 'delete'>();
  const { account } = later;
  const { common } = text;
  const name = passkey.name ?? account.unnamedPasskey;
  const close = () => setOpen(undefined);
  return (
    <>
      <Row
        icon={Fingerprint}
        title={<bdi>{name}</bdi>}
        badge={passkey.backedUp && <Badge>{account.synced}</Badge>}
        detail={
          <>
            {account.added} <Moment at={passkey.createdAt} />
          </>
        }
        action={
          <Menu
            trigger={<IconButton icon={Ellipsis} label={account.moreFor(name)} />}
            actions={[
              { label: account.rename, run: () => setOpen('rename') },
              { label: common.delete, isBad: true, isNewGroup: true, run: () => setOpen('delete') },
            ]}
          />
        }
      />
      {open === 'rename' && (
        <FormDialog
          title={account.renamePasskey}
          submit={account.rename}
          onClose={close}
          send={async (fields, close) => {
            await call('renamePasskey', { id: passkey.id, name: fields.name ?? '' });
            await readAgain();
            close();
          }}
        >
          {(error) => <NameField error={error} value={name} />}
        </FormDialog>
      )}
      {open === 'delete' && (
        <FormDialog
          title={account.deletePasskey(name)}
          lead={account.deletePasskeyLead}
          submit={account.deletePasskeySubmit}
          isDanger
          onClose={close}
          send={async (_, close) => {
            await call('deletePasskey', { id: passkey.id });
            await readAgain();
            toast(account.passkeyDeleted);
            close();
          }}
        />
      )}
    </>
  );
}

function AddPasskey({ onClose }: { onClose: () => void }) {
  const { account } = later;
  const { browser, system } = browserOf(navigator.userAgent);
  return (
    <FormDialog
      title={account.addPasskey}
      lead={account.addPasskeyLead}
      submit={account.continue}
      onClose={onClose}
      send={async ({ name = '' }, close) => {
        await addPasskey(name);
        await readAgain();
        toast(account.passkeyAdded);
        close();
      }}
    >
      {(error) => <NameField error={error} value={account.browserOn(browser ?? account.unknownBrowser, system)} />}
    </FormDialog>
  );
}

function NameField({ value, error }: { value: string; error: unknown }) {
  return (
    <Field
      label={later.account.passkeyName}
      name="name"
      defaultValue={value}
      maxLength={200}
      required
      problem={problemOf(error, 'name')}
    />
  );
}
