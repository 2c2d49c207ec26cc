import { useQuery } from '@tanstack/react-query';
import { text } from '../../text/text.ts';
import { systemQuery } from '../health/system-query.ts';

/** For how long a number beside the navigation stands, in milliseconds: all pages share what one of them has read. */
const freshMilliseconds = 600_000;

/** How much of what the doctor tried has failed. Only for the owner of the service. */
export function HealthBadge() {
  const { data } = useQuery({ ...systemQuery, staleTime: freshMilliseconds, refetchInterval: false });
  const failed = data?.doctor.findings.filter(({ status }) => status === 'failed').length ?? 0;
  if (failed === 0) return null;
  return (
    <>
      <span className="badge warn num" aria-hidden="true">
        {failed}
      </span>
      <span className="sr">{text.uploads.failed(failed)}</span>
    </>
  );
}
