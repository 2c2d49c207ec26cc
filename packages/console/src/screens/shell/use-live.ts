import { useEffect } from 'react';
import { onceReachable } from '../../once-reachable.ts';

const loadFollow = onceReachable(() => import('./follow.ts'));

/** Shows what others change in a project while somebody looks. */
export function useLive(projectId: string | undefined): void {
  useEffect(() => {
    if (projectId === undefined) return;
    let following: AbortController | undefined;
    // A tab that nobody sees keeps no connection: browsers have few for one origin.
    const update = () => {
      following?.abort();
      following = document.visibilityState === 'visible' ? new AbortController() : undefined;
      if (following) void begin(following.signal);
    };
    const begin = async (signal: AbortSignal) => {
      const { follow } = await loadFollow();
      if (!signal.aborted) await follow(projectId, signal);
    };
    update();
    document.addEventListener('visibilitychange', update);
    return () => {
      document.removeEventListener('visibilitychange', update);
      following?.abort();
    };
  }, [projectId]);
}
