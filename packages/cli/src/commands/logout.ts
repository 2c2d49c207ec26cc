import { isCadizError } from '@cadiz/client';
import type { Run } from '../command.ts';
import { readStored, readTarget, store, toServiceUrl } from '../config.ts';
import { clientOf } from '../context.ts';

export const run: Run<'logout'> = async (context, { args }) => {
  const url = args[0] ? toServiceUrl(args[0]) : (await readTarget(context.env)).url;
  const known = (await readStored(context.env)).services[url];
  // The credentials go first: they must be gone even if the service cannot be reached.
  await store(context.env, url, undefined);
  const { session } = known ?? {};
  if (session) {
    const client = clientOf(context, { url, session });
    await client.request({ method: 'POST', path: '/api/auth/sign-out', body: {} }).catch((error: unknown) => {
      if (isCadizError(error) && error.status !== 401)
        context.output.warn(`The session could not be ended, and ends by itself: ${error.message}`);
    });
  }
  context.output.print({ url, wasSignedIn: known !== undefined }, '');
  context.output.say(known ? `Signed out of ${url}.` : `Nobody was signed in to ${url}.`);
  if (context.env.CADIZ_API_KEY) context.output.warn('CADIZ_API_KEY is still set.');
};
