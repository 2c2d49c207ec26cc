import { useQuery } from '@tanstack/react-query';
import { Outlet } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { projectsQuery, queryClient, sessionQuery, useUser } from '../queries.ts';
import { cancelAll } from './uploads/uploads.ts';

/** Everything that needs a session. Other windows begin and end sessions as well: what this one shows is one person's. */
export function SignedIn() {
  const { data: session } = useQuery(sessionQuery);
  const { id } = useUser();
  const [first] = useState(id);
  const isOther = id !== first;
  const isMissing = session === null;
  useEffect(() => {
    if (isOther) {
      cancelAll();
      location.assign('/');
    } else if (isMissing) {
      // Whether the session has ended, or only has another token: if it has ended, this request leads to signing in again.
      void queryClient.invalidateQueries(projectsQuery);
    }
  }, [isOther, isMissing]);
  return isOther ? null : <Outlet />;
}
