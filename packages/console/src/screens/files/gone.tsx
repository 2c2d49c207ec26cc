import { Link, useParams } from '@tanstack/react-router';
import { codeOf } from '../../api.ts';
import { problemOf } from '../../components/problem.tsx';
import { text } from '../../text/text.ts';
import { NotFound } from '../fallbacks.tsx';
import { toLook } from './use-listing.ts';

/** Whether a folder or file that an address names does not exist (any more), or cannot, since its id is not one. */
export const isGone = (error: unknown): boolean =>
  ['folder_not_found', 'file_not_found'].includes(codeOf(error) ?? '') ||
  ['folderId', 'id'].some((field) => problemOf(error, field) !== undefined);

/** Where to look for what is gone. */
export function WaysOn({ projectId }: { projectId: string }) {
  return (
    <div className="line wrap">
      <Link className="btn main" to="/projects/$projectId/files" params={{ projectId }} search={toLook}>
        {text.files.toAllFiles}
      </Link>
      <Link className="btn" to="/projects/$projectId/trash" params={{ projectId }}>
        {text.files.toTrash}
      </Link>
    </div>
  );
}

/** An address within a project that leads nowhere. */
export function PageNotFound() {
  const { projectId = '' } = useParams({ strict: false });
  const { notFound, notFoundHint } = text.errors;
  return <NotFound title={notFound} hint={notFoundHint} ways={<WaysOn projectId={projectId} />} />;
}
