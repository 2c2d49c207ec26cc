import { useState } from 'react';
import { clientOf, isOfNetwork } from '../../api.ts';
import { copyText } from '../../clipboard.ts';
import { Button } from '../../components/button.tsx';
import { CopyButton } from '../../components/copy-button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { Meter } from '../../components/parts.tsx';
import { messageOf } from '../../components/problem.tsx';
import { toast } from '../../components/toast.tsx';
import { queryClient } from '../../queries.ts';
import { text } from '../../text/text.ts';
import { LinkForm, type Terms } from './links.tsx';
import type { FileEntry } from './use-listing.ts';

interface ManyLinksProps {
  projectId: string;
  files: readonly FileEntry[];
  /** How many folders are chosen as well: they have no links. */
  folders: number;
  onClose: () => void;
}

/** So few links are there before anybody reads how far it is. */
const few = 10;

/** How far it is with creating links. */
interface Progress {
  made: number;
  stop: () => void;
}

/** What has come of asking for links. */
interface Outcome {
  urls: readonly string[];
  /** The files that have none, and why. */
  missing: readonly { file: FileEntry; error: unknown }[];
}

/** Creates a link for each of several files, and copies them all. */
export function ManyLinks({ projectId, files, folders, onClose }: ManyLinksProps) {
  const [outcome, setOutcome] = useState<Outcome & { isCopied: boolean }>();
  const [progress, setProgress] = useState<Progress>();
  const { links: words } = text;
  async function send(terms: Terms, isThere: () => boolean) {
    const stopping = new AbortController();
    const stop = () => stopping.abort();
    const made = createLinks(projectId, files, terms, stopping.signal, (made) => setProgress({ made, stop }));
    const isCopied = await copyText(made.then(toLines)).then(
      () => true,
      () => false,
    );
    const { urls, missing } = await made;
    void queryClient.invalidateQueries({ queryKey: ['links'] });
    const isWhole = isCopied && urls.length === files.length;
    if (isThere()) {
      if (!isWhole) return setOutcome({ urls, missing, isCopied });
      onClose();
    }
    void toast(isCopied ? words.copiedMany(urls.length, files.length) : text.common.copyFailed);
  }
  return (
    <Dialog
      open
      onClose={onClose}
      title={words.titleMany(files.length)}
      lead={folders === 0 ? undefined : words.noFolders(folders)}
    >
      {outcome ? (
        <ManyMade {...outcome} all={files.length} />
      ) : (
        <div className="stack g3">
          <LinkForm
            submit={words.createMany(files.length)}
            toHint={files.length === 1 ? words.who : words.whoMany}
            send={send}
          />
          {progress && files.length > few && <Making {...progress} all={files.length} />}
        </div>
      )}
    </Dialog>
  );
}

function Making({ made, all, stop }: Progress & { all: number }) {
  const { links: words } = text;
  const far = words.making(made, all);
  return (
    <div className="line">
      <div className="grow stack g1">
        <span className="num">{far}</span>
        <Meter share={made / all} label={words.makingMany} valueText={far} />
      </div>
      <Button onClick={stop}>{words.stop}</Button>
    </div>
  );
}

/** Asks for one link after the other, so that others are not kept waiting, until it is to stop. */
async function createLinks(
  projectId: string,
  files: readonly FileEntry[],
  terms: Terms,
  signal: AbortSignal,
  onMade: (made: number) => void,
): Promise<Outcome> {
  const { links } = clientOf(projectId);
  const urls: string[] = [];
  const missing: Outcome['missing'][number][] = [];
  for (const [index, file] of files.entries()) {
    if (signal.aborted) break;
    try {
      urls.push((await links.create(file.id, terms)).url);
      onMade(urls.length);
    } catch (error) {
      // If the service does not answer for one, it will not for the others either.
      const without = isOfNetwork(error) ? files.slice(index) : [file];
      missing.push(...without.map((one) => ({ file: one, error })));
      if (without.length > 1) break;
    }
  }
  return { urls, missing };
}

/** @throws if there is nothing to copy: what was copied before stays */
function toLines({ urls }: Outcome): string {
  if (urls.length === 0) throw new Error('There is no link to copy.');
  return urls.join('\n');
}

/** The files that have no link; and the links themselves, where the browser has not copied them. */
function ManyMade({ urls, missing, isCopied, all }: Outcome & { isCopied: boolean; all: number }) {
  const { links: words } = text;
  return (
    <div className="stack g3">
      <p role="status">{words.madeMany(urls.length, all)}</p>
      {urls.length > 0 && !isCopied && (
        <>
          <p role="alert">{text.common.copyFailed}</p>
          <ul className="mono wrap-any">
            {urls.map((url) => (
              <li key={url}>{url}</li>
            ))}
          </ul>
        </>
      )}
      {urls.length > 0 && (
        <span>
          <CopyButton value={urls.join('\n')} label={words.copyMany} />
        </span>
      )}
      {missing.length > 0 && (
        <>
          <p>{words.missing}</p>
          <ul className="stack g2">
            {missing.map(({ file, error }) => (
              <li key={file.id}>
                <b className="med wrap-any">
                  <bdi>{file.name}</bdi>
                </b>
                <span className="cap quiet"> {messageOf(error)}</span>
              </li>
            ))}
          </ul>
        </>
      )}
    </div>
  );
}
