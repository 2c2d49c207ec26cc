import { queryOptions } from '@tanstack/react-query';
import { call } from '../../api.ts';

/** The keys of a project. @param mayManage viewers are told of their own alone */
export const keysQuery = (projectId: string, mayManage: boolean) =>
  queryOptions({
    queryKey: ['keys', projectId, mayManage],
    queryFn: async () => {
      const { apiKeys } = await call('listApiKeys', mayManage ? { projectId } : {});
      return apiKeys.filter((key) => key.projectId === projectId);
    },
  });
