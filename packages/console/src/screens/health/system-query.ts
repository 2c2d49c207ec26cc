import type { Answer } from '@cadiz/contract';
import { queryOptions } from '@tanstack/react-query';
import { call } from '../../api.ts';

export type System = Answer<'getSystem'>;
export type Finding = System['doctor']['findings'][number];
export type Job = System['jobs'][number];

const seconds = 1000;

/** How the service is; read again every half minute, and more often while the doctor is at work. */
export const systemQuery = queryOptions({
  queryKey: ['system'],
  queryFn: () => call('getSystem', {}),
  refetchInterval: ({ state: { data } }) => (data?.doctor.running ? 2 * seconds : 30 * seconds),
});
