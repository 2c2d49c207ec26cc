// @ts-check
// Changes that break the defence of each row of docs/security.md. `npm run mutate -- rows` checks that the tests of the row fail.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../prepare.mjs';

/**
 * @typedef {{ what: string, file: string, find: string, put: string, needs?: import('../security-document.mjs').Need }} RowMutant
 *   `what` is the guarantee that it breaks. `find` occurs in the file exactly once; it is short, so that changes next to it do
 *   not matter. `put` compiles, though it may leave something unused. `needs` is what the test that notices needs.
 */

const server = 'packages/server/src';
const identity = `${server}/identity`;
const serving = `${server}/serving`;
const http = `${server}/http`;
const store = 'packages/store/src';

/** By the number of the row. @type {Record<number, RowMutant[]>} */
export const mutants = {
  1: [
    {
      what: 'cookies are out of reach of scripts',
      file: `${http}/cookies.ts`,
      find: "'HttpOnly', ",
      put: '',
    },
    { what: 'cookies are __Host- under https', file: `${http}/cookies.ts`, find: "'__Host-'", put: "''" },
    { what: 'cookies are Secure under https', file: `${http}/cookies.ts`, find: "['Secure']", put: '[]' },
  ],
  2: [
    {
      what: 'no token is in a body',
      file: `${http}/dispatch.ts`,
      find: 'new Whole(JSON.stringify(answer),',
      put: 'new Whole(JSON.stringify({ ...(answer as object), token: keep.session }),',
    },
  ],
  3: [
    {
      what: 'a token is kept as its SHA-256',
      file: `${server}/access/session-token.ts`,
      find: "createHash('sha256').update(token).digest('base64url')",
      put: 'token',
    },
  ],
  4: [
    {
      what: 'a sign-in ends the previous session',
      file: `${identity}/sign-in/sign-in.ts`,
      find: 'await endKeptSession(trx, browser.kept.session);',
      put: '',
    },
  ],
  5: [
    {
      what: 'a session that is idle for a week ends',
      file: `${server}/access/session-lifetime.ts`,
      find: 'idleSeconds = 7 *',
      put: 'idleSeconds = 70 *',
    },
    {
      what: 'the end of a session is checked',
      file: `${server}/access/find-session-caller.ts`,
      find: 'expires_at > $2',
      put: '$2::timestamptz is not null',
    },
    {
      what: 'using a session prolongs it',
      file: `${identity}/sessions/get-session.ts`,
      find: 'prolongedAfterMilliseconds = 3600_000',
      put: 'prolongedAfterMilliseconds = 36_000_000_000',
    },
    {
      what: 'a session ends after thirty days',
      file: `${server}/access/session-lifetime.ts`,
      find: 'longestMilliseconds = 30 *',
      put: 'longestMilliseconds = 300 *',
    },
  ],
  6: [
    {
      what: 'a sign-out ends the session on the server',
      file: `${identity}/sessions/sign-out.ts`,
      find: 'await endKeptSession(trx, token)',
      put: 'token !== undefined',
    },
  ],
  7: [
    {
      what: 'a disabled account has no working key',
      file: `${server}/access/alive-key.ts`,
      find: 'users.disabled_at is null',
      put: 'true',
    },
    {
      what: 'a disabled account has no session',
      file: `${server}/access/find-session-caller.ts`,
      find: ' and disabled_at is null',
      put: '',
    },
  ],
  8: [
    {
      what: 'a new password ends the other sessions',
      file: `${identity}/sessions/end-sessions.ts`,
      find: "deleteFrom('sessions').where('user_id', '=', userId)",
      put: "deleteFrom('sessions').where('user_id', '=', userId).where('id', 'is', null)",
    },
    {
      what: 'a new password ends sign-ins by the old one',
      file: `${identity}/sign-in/sign-in.ts`,
      find: '(await findSettledPasswordHash(trx, userId)) !== hash',
      put: '(await findSettledPasswordHash(trx, userId)) === undefined',
    },
    {
      what: 'a reset removes the passkeys',
      file: `${identity}/passwords/reset-password.ts`,
      find: 'removesPasskeys: true',
      put: 'removesPasskeys: false',
    },
  ],
  9: [
    {
      what: 'people cannot end the sessions of others',
      file: `${identity}/sessions/end-session.ts`,
      find: ".where('id', '=', id)\n      .where('user_id', '=', caller.userId)",
      put: ".where('id', '=', id)",
    },
    {
      what: 'people end all sessions but their own',
      file: `${identity}/sessions/end-other-sessions.ts`,
      find: 'endSessions(trx, caller.userId, caller.sessionId)',
      put: 'endSessions(trx, caller.userId)',
    },
  ],
  10: [
    {
      what: 'the command of the operator ends the sessions',
      file: `${server}/users/run-command.ts`,
      find: '= await endUserSessions(users, operator, { userId: id });',
      put: '= { endedSessions: 2 };',
    },
  ],
  11: [
    {
      what: 'passwords are hashed with 19 MiB',
      file: `${identity}/passwords/passwords.ts`,
      find: "hash(password.normalize('NFKC'))",
      put: "hash(password.normalize('NFKC'), { memoryCost: 8192 })",
    },
    {
      what: 'a hash of weaker parameters is renewed',
      file: `${identity}/passwords/passwords.ts`,
      find: '!stored.startsWith(ofToday)',
      put: 'false',
    },
  ],
  12: [
    {
      what: 'common passwords are refused',
      file: `${identity}/passwords/common-passwords.ts`,
      find: 'common.has(text) || own.has(text)',
      put: 'own.has(text)',
    },
    {
      what: 'long passwords are used in full',
      file: `${identity}/passwords/passwords.ts`,
      find: "attempt.password.normalize('NFKC')",
      put: "attempt.password.normalize('NFKC').slice(0, 1000)",
    },
  ],
  13: [
    {
      what: 'an unknown account costs the same work',
      file: `${identity}/sign-in/sign-in.ts`,
      find: 'await passwords.hash(password);\n    throw',
      put: 'throw',
    },
  ],
  14: [
    {
      what: 'guesses from one address are few',
      file: `${identity}/sign-in-limits.ts`,
      find: 'perAddress = { points: 10,',
      put: 'perAddress = { points: 1000,',
    },
    {
      what: 'guesses at one account are few',
      file: `${identity}/sign-in-limits.ts`,
      find: 'perAccount = { points: 5,',
      put: 'perAccount = { points: 500,',
    },
    {
      what: 'X-Forwarded-For is not trusted from just anybody',
      file: `${http}/client-address.ts`,
      find: 'warnOfForwarder(deps, client);\n    return client;',
      put: 'return toPlain(forwarded) ?? client;',
    },
    {
      what: 'an IPv6 network is one client',
      file: `${server}/rate-limits/address-block.ts`,
      find: 'isIP(address) !== 6',
      put: 'isIP(address) !== 7',
    },
  ],
  15: [
    {
      what: 'there is no account that nobody created',
      file: `${server}/db/migrate.ts`,
      find: 'return pending.map(',
      put: "if (pending.length > 0) await client.query(\"insert into users (id, name, email, role) values (gen_random_uuid(), 'Admin', 'admin@example.com', 'member')\"); return pending.map(",
    },
  ],
  16: [
    {
      what: 'there is one first owner',
      file: `${server}/db/migrations/0001-foundation.sql`,
      find: 'create unique index users_one_owner',
      put: 'create index users_one_owner',
    },
  ],
  17: [
    {
      what: 'Sec-Fetch-Site is checked',
      file: `${http}/caller.ts`,
      find: "site === 'same-origin' || site === 'none'",
      put: "site !== ''",
    },
  ],
  18: [
    {
      what: 'a body that is not JSON is refused',
      file: `${http}/input.ts`,
      find: "if (type !== 'application/json' && !anyMediaType",
      put: "if (type === '' && !anyMediaType",
    },
  ],
  19: [
    {
      what: 'pages of other origins cannot read with a cookie',
      file: `${http}/answer-headers.ts`,
      find: 'takesKeys(route) || takesTickets(route)',
      put: "route.access !== 'anybody'",
    },
    {
      what: 'CORS is without credentials',
      file: `${http}/answer-headers.ts`,
      find: "exchange.extraHeaders.push('Access-Control-Allow-Origin', '*',",
      put: "exchange.extraHeaders.push('Access-Control-Allow-Credentials', 'true', 'Access-Control-Allow-Origin', '*',",
    },
  ],
  20: [
    {
      what: 'nosniff is on every answer',
      file: `${http}/answer-headers.ts`,
      find: "...['X-Content-Type-Options', 'nosniff'],",
      put: '',
    },
  ],
  21: [
    {
      what: 'the CSP lets no script in',
      file: `${http}/answer-headers.ts`,
      find: "default-src 'none';",
      put: "default-src 'unsafe-inline';",
    },
    {
      what: 'no page can be framed',
      file: `${http}/answer-headers.ts`,
      find: "; frame-ancestors 'none'",
      put: '',
    },
  ],
  22: [
    {
      what: 'HSTS is there under https',
      file: `${http}/answer-headers.ts`,
      find: "publicUrl.startsWith('https:')",
      put: "publicUrl.startsWith('never:')",
    },
  ],
  23: [
    {
      what: 'no URL is sent as a referrer',
      file: `${http}/answer-headers.ts`,
      find: "...['Referrer-Policy', 'no-referrer'],",
      put: '',
    },
  ],
  24: [
    {
      what: 'no answer is cached',
      file: `${http}/answer-headers.ts`,
      find: "...['Cache-Control', 'no-store'],",
      put: '',
    },
  ],
  25: [
    {
      what: 'a method that a path does not take is 405',
      file: `${http}/malformed.ts`,
      find: "new Problem('method_not_allowed',",
      put: "new Problem('not_found',",
    },
  ],
  26: [
    {
      what: 'a wrong checksum costs no query',
      file: `${server}/access/token.ts`,
      find: ' && checksumOf(token.slice(0, -checksumLength)) === token.slice(-checksumLength)',
      put: '',
    },
  ],
  27: [
    {
      what: 'a raw key is in no row',
      file: `${server}/features/api-keys/create-api-key.ts`,
      find: 'apiKeyId: id,',
      put: 'apiKeyId: id, key,',
    },
  ],
  28: [
    {
      what: 'another process acts on the message',
      file: `${server}/access/access-changes.ts`,
      find: 'onMessage: (payload) => forget(parseChange(payload))',
      put: 'onMessage: (payload) => void parseChange(payload)',
    },
    {
      what: 'other processes get the message',
      file: `${server}/access/access-changes.ts`,
      find: 'await db.notify(channel,',
      put: 'if (!change.id) await db.notify(channel,',
      needs: 'PostgreSQL',
    },
    {
      what: 'the process that revokes forgets at once',
      file: `${server}/features/api-keys/revoke-api-key.ts`,
      find: "await deps.accessChanges.publish({ kind: 'apiKey', id: row.id });",
      put: '',
    },
    {
      what: 'a cache is never older than ten seconds',
      file: `${server}/access/found-cache.ts`,
      find: 'foundCacheMilliseconds = 10_000',
      put: 'foundCacheMilliseconds = 60_000',
    },
    {
      what: 'access is checked again after a slow body',
      file: `${http}/input.ts`,
      find: 'await exchange.refreshCaller?.();',
      put: 'void 0;',
    },
    {
      what: 'access is checked again during a slow listing',
      file: `${server}/access/reopen-project.ts`,
      find: 'if (!isDue()) return;',
      put: 'if (!isDue() || everyMilliseconds > 0) return;',
    },
  ],
  29: [
    {
      what: 'a cached key expires',
      file: `${server}/access/known-credentials.ts`,
      find: 'one.expiresAt > at && !isForgotten(one)',
      put: '!isForgotten(one)',
    },
    {
      what: 'a key that is not cached expires',
      file: `${server}/access/alive-key.ts`,
      find: 'expires_at > $2',
      put: 'expires_at > $2 or true',
    },
  ],
  30: [
    {
      what: 'a role does what it may',
      file: `${server}/access/open-project.ts`,
      find: 'rightsOf[role].includes(right)',
      put: 'rightsOf[role].length > 0',
    },
    {
      what: 'a key does what its scopes say',
      file: `${server}/access/open-project.ts`,
      find: 'caller.scopes.some((scope) => scope === right)',
      put: 'caller.scopes.length > 0',
    },
  ],
  31: [
    {
      what: 'the project of something foreign is not revealed',
      file: `${server}/access/open-project.ts`,
      find: 'error instanceof Problem && error.status < 500 ? new Problem(notFound) : error',
      put: 'error',
    },
    {
      what: 'a foreign folder looks like a missing one',
      file: `${server}/access/require-folder.ts`,
      find: 'select 1 from folders where project_id = $1',
      put: 'select 1 from folders where $1::uuid is not null',
    },
  ],
  32: [
    {
      what: 'memberships are looked up, not remembered',
      file: `${server}/access/forgetting.ts`,
      find: 'else forgottenBy.set(name, changes);',
      put: 'else forgottenBy.set(name, 0);',
    },
  ],
  33: [
    {
      what: 'only people can create keys',
      file: `${http}/caller.ts`,
      find: 'export async function requireSession(deps: Deps, exchange: Exchange): Promise<SessionCaller> {',
      put: "export async function requireSession(deps: Deps, exchange: Exchange): Promise<SessionCaller> {\n  const byKey = await requireKeyOrSession(deps, exchange).catch(() => undefined);\n  if (byKey?.kind === 'apiKey') return { kind: 'session', userId: byKey.createdBy };",
    },
  ],
  34: [
    {
      what: 'the old key works for the overlap',
      file: `${server}/features/api-keys/rotate-api-key.ts`,
      find: 'overlapSeconds * 1000)',
      put: 'overlapSeconds * 0)',
    },
    {
      what: 'the old key ends after the overlap',
      file: `${server}/features/api-keys/rotate-api-key.ts`,
      find: 'overlapSeconds * 1000)',
      put: 'overlapSeconds * 1_000_000)',
    },
  ],
  35: [
    {
      what: 'a key is accepted in no other header',
      file: `${http}/caller.ts`,
      find: 'const authorization = exchange.headers.authorization;',
      put: "const authorization = exchange.headers.authorization ?? exchange.headers['x-api-key']?.replace(/^/, 'Bearer ');",
    },
  ],
  36: [
    {
      what: 'a call writes nothing',
      file: `${server}/access/find-api-key.ts`,
      find: 'onUse: (keyId) => lastUsed.set(keyId, now()),',
      put: "onUse: (keyId) => void pool.query('update api_keys set last_used_at = now() where id = $1', [keyId]),",
    },
  ],
  37: [
    {
      what: 'a storeKey belongs to the project it is recorded in',
      file: `${server}/store/store-key.ts`,
      find: 'match[1] !== projectId',
      put: "match[1] === ''",
    },
  ],
  38: [
    {
      what: 'the size is that of the object',
      file: `${server}/features/uploads/record-upload.ts`,
      find: 'object.sizeBytes !== request.fileSize',
      put: 'object.sizeBytes < 0',
    },
    {
      what: 'a recorded upload is not recorded again with different details',
      file: `${server}/features/uploads/find-differences.ts`,
      find: 'if (differing.length === 0)',
      put: 'if (differing.length < 99)',
    },
  ],
  39: [
    {
      what: 'a name has no slash',
      file: 'packages/contract/src/fields.ts',
      find: "name.includes('/') || name",
      put: 'name',
    },
    {
      what: 'one name gets many storeKeys',
      file: `${server}/store/store-key.ts`,
      find: '(digits.count + 1) %',
      put: 'digits.count %',
    },
  ],
  40: [
    {
      what: 'the quota counts what is stored',
      file: `${server}/limits/lock-limits.ts`,
      find: 'await readStoredBytes(trx, project)',
      put: '0',
    },
    {
      what: 'recordings wait for each other',
      file: `${server}/limits/lock-limits.ts`,
      find: '.forNoKeyUpdate()',
      put: '',
      needs: 'PostgreSQL',
    },
  ],
  41: [
    {
      what: 'the embedded store accepts an upload URL once',
      file: `${store}/protocol/write-condition.ts`,
      find: 'condition.once = true;',
      put: 'condition.once = store.now() < 0;',
    },
  ],
  42: [
    {
      what: 'types that could run scripts are served as bytes',
      file: `${serving}/served-type.ts`,
      find: "return { contentType: 'application/octet-stream', disposition: 'attachment' };",
      put: 'return { contentType: essence, disposition: wanted };',
    },
  ],
  43: [
    {
      what: 'a quote does not end the name',
      file: `${serving}/content-disposition.ts`,
      find: '["\\\\%]',
      put: '[\\\\%]',
    },
    {
      what: 'a control character does not end the header',
      file: `${serving}/content-disposition.ts`,
      find: '[^\\x20-\\x7e]',
      put: '[^\\0-\\x7e]',
    },
  ],
  44: [
    {
      what: 'the signature of a request is compared',
      file: 'packages/sigv4/src/verify.ts',
      find: 'equals(claim.signature, expected)',
      put: 'equals(expected, expected)',
    },
    {
      what: 'every x-amz- header is signed',
      file: 'packages/sigv4/src/verify.ts',
      find: "!name.startsWith('x-amz-') || signedHeaders",
      put: "name.startsWith('x-amz-') || signedHeaders",
    },
    {
      what: 'the signature of a chunk is compared',
      file: `${store}/protocol/aws-chunked.ts`,
      find: 'if (hash && body.signer) requireSignature(',
      put: 'if (hash && body.signer && left < 0) requireSignature(',
    },
  ],
  45: [
    {
      what: 'no control character reaches the database',
      file: 'packages/contract/src/fields.ts',
      find: "if (controlCharacter.test(text)) return 'must not contain control characters';",
      put: '',
    },
  ],
  46: [
    {
      what: 'no header is logged',
      file: `${http}/app.ts`,
      find: 'deps.observe(answered);',
      put: "deps.log.debug({ cookie: exchange.headers.cookie, authorization: exchange.headers.authorization }, 'request'); deps.observe(answered);",
    },
    {
      what: 'no body is logged',
      file: `${http}/dispatch.ts`,
      find: 'const caller = found instanceof Promise ? await found : found;',
      put: "const caller = found instanceof Promise ? await found : found;\n  const read = exchange.readBytes;\n  exchange.readBytes = async (most) => {\n    const bytes = await read.call(exchange, most);\n    deps.log.debug({ sent: bytes.toString() }, 'request');\n    return bytes;\n  };",
    },
    {
      what: 'nothing of a row is logged',
      file: `${server}/telemetry/log.ts`,
      find: "['detail', 'where',",
      put: "['where',",
    },
    {
      what: 'no log line contains a credential',
      file: `${server}/telemetry/log.ts`,
      find: 'hooks: { streamWrite: withoutCredentials }',
      put: 'hooks: {}',
    },
    {
      what: 'the tests of the service search its log',
      file: 'packages/server/test/service.ts',
      find: "secrecy.findIn(lines.join('')) ??",
      put: '',
    },
  ],
  47: [
    {
      what: 'the IP address is recorded',
      file: `${server}/events/record-event.ts`,
      find: 'ip: by.address ?? null',
      put: 'ip: null',
    },
    {
      what: 'a revocation is recorded',
      file: `${server}/features/api-keys/revoke-api-key.ts`,
      find: "await recordEvent(trx, at, { type: 'api_key.revoked'",
      put: "if (!key.id) await recordEvent(trx, at, { type: 'api_key.revoked'",
    },
  ],
  48: [
    {
      what: 'slow clients of the service are cut off',
      file: `${http}/listen.ts`,
      find: 'requestTimeout: 15_000',
      put: 'requestTimeout: 0',
    },
    {
      what: 'slow clients of the store are cut off',
      file: `${store}/server/server.ts`,
      find: 'if (hasBody(request)) cutSlowBody(',
      put: 'if (!hasBody(request)) cutSlowBody(',
    },
  ],
  49: [
    {
      what: 'an unreachable database is 503',
      file: `${http}/problem-document.ts`,
      find: ' || isConnectionError(error)) return databaseUnavailable(error);',
      put: ') return databaseUnavailable(error);',
    },
    {
      what: 'waiting too long for a lock is 503 with Retry-After',
      file: `${server}/db/open.ts`,
      find: 'lock_timeout: 10_000',
      put: 'lock_timeout: 0',
      needs: 'PostgreSQL',
    },
    {
      what: 'a connection that breaks does not end the process',
      file: `${server}/db/open.ts`,
      find: ".on('connect', (client) => client.on('error', () => undefined))",
      put: '',
      needs: 'PostgreSQL',
    },
  ],
  50: [
    {
      what: 'the document has every route',
      file: 'packages/contract/src/openapi.ts',
      find: 'of inReadingOrder()',
      put: "of inReadingOrder().filter(([id]) => id !== 'usage')",
    },
  ],
  51: [
    {
      what: 'a ticket opens no other route',
      file: `${http}/caller.ts`,
      find: 'return requireCaller(deps, exchange, refuseTicket);',
      put: 'return requireCaller(deps, exchange, admitTicket) as never;',
    },
    {
      what: 'a ticket ends with the key that made it',
      file: `${server}/access/find-ticket.ts`,
      find: 'or keys.revoked_at is null and',
      put: 'or',
    },
    {
      what: 'a ticket stays in the folder of the key that made it',
      file: `${server}/access/open-project.ts`,
      find: 'const ofKey = madeByKey?.folderId ?? folderId;',
      put: 'const ofKey = folderId;',
    },
    {
      what: 'a ticket records only what it has reserved',
      file: `${server}/features/uploads/record-upload.ts`,
      find: "caller.kind === 'ticket' && row.ticket_id !== caller.ticketId",
      put: "caller.kind === 'ticket' && row.ticket_id === undefined",
    },
    {
      what: 'pages of other origins are refused',
      file: `${http}/caller.ts`,
      find: 'origin !== undefined && ticket.origins &&',
      put: 'origin === undefined && ticket.origins &&',
    },
  ],
  52: [
    {
      what: 'files are counted before the URL is signed',
      file: `${server}/tickets/reserve.ts`,
      find: 'and used_files + :files::int <= max_files ',
      put: '',
    },
    {
      what: 'a reservation is recorded or given back, not both',
      file: `${server}/features/uploads/insert-file-sql.ts`,
      find: "and state = 'reserved' and (select",
      put: 'and (select',
    },
  ],
  53: [
    {
      what: 'https reaches public addresses only',
      file: `${server}/webhooks/addresses.ts`,
      find: 'return isSecure && isPublic(address);',
      put: 'return isSecure;',
    },
    {
      what: 'every address of a name counts',
      file: `${server}/webhooks/target.ts`,
      find: 'addresses.find((address) => !mayReach',
      put: 'addresses.slice(0, 1).find((address) => !mayReach',
    },
    {
      what: 'addresses are checked that nobody looks up',
      file: `${server}/webhooks/post.ts`,
      find: 'if (isIP(target.host)) await findAddresses(target, options);',
      put: '',
    },
    {
      what: 'an endpoint is checked when it is created',
      file: `${server}/features/webhooks/require-deliverable.ts`,
      find: 'await findAddresses(target, { lookup: lookupHost, allowed: config.webhookAllowNetworks });',
      put: '',
    },
    {
      what: 'secrets are sealed',
      file: `${server}/features/webhooks/create-webhook.ts`,
      find: 'secret: seal(deps.secret, secret),',
      put: 'secret,',
    },
  ],
};

/**
 * The text of the mutant's file with the defence broken.
 * @param {RowMutant} mutant @param {string} [text] the file as it is
 * @throws Error when what the mutant looks for does not stand there exactly once
 */
export function applyMutant({ what, file, find, put }, text = readFileSync(join(root, file), 'utf8')) {
  const times = text.split(find).length - 1;
  if (times === 1) return text.replace(find, () => put);
  throw new Error(
    `The mutant that breaks "${what}" no longer applies: ${JSON.stringify(find)} stands ${times} times in ${file}, and has to stand there once. Choose another text in scripts/mutation/rows.mjs, and see npm run mutate -- rows kill it.`,
  );
}
