import { Link } from '@tanstack/react-router';
import { FolderOpen, KeyRound, Upload } from 'lucide-react';
import { Empty } from '../../components/parts.tsx';
import { text } from '../../text/text.ts';
import { Steps } from '../entry/steps.tsx';
import { Snippets } from '../keys/snippets.tsx';
import { UploadButton } from '../uploads/upload-button.tsx';

interface FirstUploadProps {
  projectId: string;
  folderId: string | null;
  canUpload: boolean;
}

/** An empty folder: how to fill it, here or from code. */
export function FirstUpload({ projectId, folderId, canUpload }: FirstUploadProps) {
  const { files } = text;
  if (!canUpload) return <Empty icon={FolderOpen} title={files.empty} hint={files.emptyForViewers} />;
  return (
    <div className="scroll">
      <div className="page read middle">
        {folderId === null && (
          <div className="only-wide">
            <Steps names={files.steps} current={1} />
          </div>
        )}
        <div className="empty dropzone">
          <Upload className="i" aria-hidden="true" />
          <h2>
            <span className="only-wide">{files.dropHere}</span>
            <span className="only-phone">{folderId === null ? files.addFirst : files.empty}</span>
          </h2>
          <p>{files.dropHint}</p>
          <div className="line wrap">
            <UploadButton projectId={projectId} folderId={folderId} label={text.uploads.chooseFiles} />
            <UploadButton projectId={projectId} folderId={folderId} isFolder />
          </div>
        </div>
        {folderId === null && (
          <section className="sect">
            <header>
              <div className="grow">
                <h3>{files.fromCode}</h3>
                <p>{files.fromCodeHint}</p>
              </div>
              <Link className="btn s" to="/projects/$projectId/keys" params={{ projectId }}>
                <KeyRound className="i" aria-hidden="true" />
                {text.keys.create}
              </Link>
            </header>
            <Snippets projectId={projectId} />
          </section>
        )}
      </div>
    </div>
  );
}
