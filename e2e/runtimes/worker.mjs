// @ts-check
// For runtimes that answer requests: the body is the settings, and the answer what happened.
import { useClient } from './use-client.mjs';

export default {
  /** @param {Request} request */
  async fetch(request) {
    return Response.json(await useClient(await request.json()));
  },
};
