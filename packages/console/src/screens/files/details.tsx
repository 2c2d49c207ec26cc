import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Check } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { clientOf } from '../../api.ts';
import { Button } from '../../components/button.tsx';
import { CopyButton } from '../../components/copy-button.tsx';
import { Badge, Moment } from '../../components/parts.tsx';
import { formatBytes, formatCount, formatMoment } from '../../format.ts';
import { membersQuery, useRole, useUser } from '../../queries.ts';
import { text } from '../../text/text.ts';
import { keysQuery } from '../keys/keys-query.ts';
import { MetadataDialog } from './metadata-dialog.tsx';
import { type FileEntry, toLook } from './use-listing.ts';
import '../../styles/screens/details.css';

interface DetailsProps {
  projectId: string;
  file: FileEntry['item'];
}

/** All that is known of a file; what an application keeps with it can be changed. */
export function Details({ projectId, file }: DetailsProps) {
  const { preview } = text;
  const [isEditing, setEditing] = useState(false);
  const canChange = useRole(projectId) !== 'viewer';
  const metadata = Object.entries(file.metadata);
  return (
    <>
      <section>
        <h3>{preview.details}</h3>
        <dl className="kv">
          <Fact label={text.files.type}>
            <span className="mono">{file.mimeType}</span>
            {file.contentCheck === 'match' && (
              <Badge tone="ok" icon={Check}>
                {preview.checked}
              </Badge>
            )}
            {file.contentCheck === 'mismatch' && file.detectedMimeType && (
              <Badge tone="warn">{preview.looksLike(file.detectedMimeType)}</Badge>
            )}
          </Fact>
          <Fact label={text.files.size}>
            <span className="num">{formatBytes(file.fileSize)}</span>
            <span className="quiet num">{preview.bytes(file.fileSize)}</span>
          </Fact>
          {file.image && <ImageFacts image={file.image} />}
          <Fact label={text.files.added}>
            <Moment at={file.createdAt} />
          </Fact>
          {file.createdBy && (
            <Fact label={preview.by}>
              <AddedBy projectId={projectId} by={file.createdBy} />
            </Fact>
          )}
          <Fact label={text.files.where}>
            <Where projectId={projectId} folderId={file.folderId} />
          </Fact>
        </dl>
      </section>
      <section className="stack g3">
        <h3>{preview.forCode}</h3>
        <dl className="kv">
          <Fact label={preview.id} code={file.id} />
          <Fact label={preview.storeKey} code={file.storeKey} />
          {file.sha256 !== null && (
            <Fact label="SHA-256" code={file.sha256}>
              {file.sha256State && (
                <Badge tone={checkTones[file.sha256State]} {...(file.sha256State === 'verified' && { icon: Check })}>
                  {preview.sha256States[file.sha256State]}
                </Badge>
              )}
            </Fact>
          )}
          <Fact label="ETag" code={file.etag} />
          {file.externalId !== null && <Fact label={preview.externalId} code={file.externalId} />}
        </dl>
        <h4>{preview.metadata}</h4>
        {metadata.length === 0 ? (
          <p className="quiet">{preview.noMetadata}</p>
        ) : (
          <dl className="kv">
            {metadata.map(([name, value]) => (
              <Fact key={name} label={name}>
                <bdi>{String(value)}</bdi>
              </Fact>
            ))}
          </dl>
        )}
        {canChange && <Button onClick={() => setEditing(true)}>{preview.editMetadata}</Button>}
        {isEditing && <MetadataDialog projectId={projectId} file={file} onClose={() => setEditing(false)} />}
      </section>
    </>
  );
}

const checkTones = { declared: '', verified: 'ok', mismatch: 'bad' } as const;

/** One fact under its name. `code` is what programs need: it is in their type, and can be copied. */
function Fact({ label, code, children }: { label: string; code?: string; children?: ReactNode }) {
  return (
    <>
      <dt>{label}</dt>
      <dd className={code === undefined ? '' : 'is-code'}>
        {code !== undefined && (
          <>
            <bdi className="mono clip" title={code}>
              {code}
            </bdi>
            <CopyButton value={code} label={text.preview.copyFact(label)} />
          </>
        )}
        {children}
      </dd>
    </>
  );
}

/** What is known of a picture. A location is shown as a warning, since everybody who gets the file learns it. */
function ImageFacts({ image }: { image: NonNullable<FileEntry['item']['image']> }) {
  const { width, height, takenAt, hasLocation } = image;
  const { preview } = text;
  return (
    <>
      {width !== null && height !== null && (
        <Fact label={preview.dimensions}>{preview.pixels(formatCount(width), formatCount(height))}</Fact>
      )}
      {takenAt !== null && <Fact label={preview.takenAt}>{formatMoment(takenAt)}</Fact>}
      {hasLocation && (
        <Fact label={preview.location}>
          <Badge tone="warn">{preview.hasLocation}</Badge>
        </Fact>
      )}
    </>
  );
}

/** The way to the folder of a file: each part of it leads there. */
function Where({ projectId, folderId }: { projectId: string; folderId: string | null }) {
  const { data } = useQuery({
    queryKey: ['folders', projectId, folderId, 'path'],
    queryFn: async () => (await clientOf(projectId).files.page({ folder: folderId, limit: 1 })).breadcrumbs,
  });
  if (!data) return null;
  const parts = data.map(({ id, name }, index) => (
    <span key={id}>
      {index > 0 && ' / '}
      {id === null ? (
        <Link to="/projects/$projectId/files" params={{ projectId }} search={toLook}>
          <bdi>{name}</bdi>
        </Link>
      ) : (
        <Link to="/projects/$projectId/files/$folderId" params={{ projectId, folderId: id }} search={toLook}>
          <bdi>{name}</bdi>
        </Link>
      )}
    </span>
  ));
  return <span>{parts}</span>;
}

/** Who uploaded a file, as far as that is known. */
function AddedBy({ projectId, by }: { projectId: string; by: NonNullable<FileEntry['item']['createdBy']> }) {
  const user = useUser();
  const { data: members } = useQuery(membersQuery(projectId));
  const { preview } = text;
  if ('apiKeyId' in by) return <AddedWith projectId={projectId} keyId={by.apiKeyId} />;
  if ('ticketId' in by) return preview.byTicket;
  if (by.userId === user.id) return preview.byYou;
  const name = members?.find(({ userId }) => userId === by.userId)?.name;
  return name === undefined ? preview.byFormer : <bdi>{name}</bdi>;
}

/** The key that a file was uploaded with. Viewers are not told the names of keys. */
function AddedWith({ projectId, keyId }: { projectId: string; keyId: string }) {
  const mayManage = useRole(projectId) !== 'viewer';
  const { data: keys } = useQuery({ ...keysQuery(projectId, mayManage), enabled: mayManage });
  const name = keys?.find(({ id }) => id === keyId)?.name;
  if (name === undefined) return text.preview.byKey;
  return (
    <span>
      {text.preview.key} <bdi className="strong">{name}</bdi>
    </span>
  );
}
