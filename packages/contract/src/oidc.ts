import { z } from 'zod';

/** A path on this service, so that nobody is sent elsewhere after signing in. */
const ownPath = z
  .string()
  .max(2048, { error: 'must be at most 2048 characters' })
  // Browsers read //host and /\host as another host, after dropping tabs and line ends.
  .regex(/^\/(?![/\\])[\x21-\x7e]*$/, { error: 'must be a path of this service, such as /projects' })
  .meta({ examples: ['/projects'] });

/** There is only one provider. */
export const OidcRequest = z.object({
  provider: z.literal('oidc', { error: 'must be oidc' }),
  callbackURL: ownPath.default('/'),
  errorCallbackURL: ownPath
    .optional()
    .describe('Where the browser goes instead if signing in fails, with the code of the error in `?error=`.'),
});

export const OidcRedirection = z.object({ url: z.url(), redirect: z.boolean() });

const given = z.string().max(4096, { error: 'must be at most 4096 characters' }).optional();
/** RFC 6749 §4.1.2 and RFC 9207 §2. */
export const OidcAnswerQuery = z.object({ state: given, code: given, error: given, iss: given });
