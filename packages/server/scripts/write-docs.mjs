// @ts-check
// Writes docs/errors.md, docs/events.md, docs/settings.md, the client's error codes and the console's operations from the built catalogues.
// With --check it writes nothing, names the files that are out of date, and ends with 1 if there are any.
import { readFileSync, writeFileSync } from 'node:fs';
import { accessTypes, errorCatalogue, eventCatalogue, File, Folder, routes } from '@cadiz/contract';
import { settings } from '../dist/settings/table.js';

const command = 'npm run docs';
const pages = {
  'docs/errors.md': toErrorsPage(),
  'docs/events.md': toEventsPage(),
  'docs/settings.md': toSettingsPage(),
  'packages/client/src/error-codes.ts': toErrorCodes(),
  'packages/console/src/operations.ts': toOperations(),
};
const checkOnly = process.argv.includes('--check');

for (const [name, text] of Object.entries(pages)) {
  const url = new URL(`../../../${name}`, import.meta.url);
  if (!checkOnly) writeFileSync(url, text);
  else if (readOrEmpty(url) !== text) {
    console.error(`${name} is out of date: run ${command}`);
    process.exitCode = 1;
  }
}

/** @param {URL} url */
function readOrEmpty(url) {
  try {
    return readFileSync(url, 'utf8');
  } catch {
    return '';
  }
}

function toErrorCodes() {
  const codes = Object.keys(errorCatalogue).map((code) => `  | '${code}'`);
  return `// Written by packages/server/scripts/write-docs.mjs: change packages/contract/src/errors.ts instead.

/** Every error of the service: docs/errors.md says what each means, and how to mend it. */
export type ErrorCode =
${codes.join('\n')};
`;
}

/** What the console needs of each route, without the schemas. */
function toOperations() {
  const entries = Object.entries(routes).map(([id, { method, path }]) => `  ${id}: '${method} ${path}',`);
  return `// Written by packages/server/scripts/write-docs.mjs: change packages/contract/src/routes.ts instead.

/** The method and path of every operation of the service. */
export const operations = {
${entries.join('\n')}
} as const;
`;
}

function toEventsPage() {
  const entries = Object.entries(eventCatalogue).filter(([type]) => type !== 'webhook.test');
  const rows = entries
    .filter(([type]) => !accessTypes.some((one) => one === type))
    .map(([type, { when, data }]) => `| \`${type}\` | ${when} | ${toFields(data)} |`);
  const access = entries
    .filter(([type]) => accessTypes.some((one) => one === type))
    .map(([type, { when }]) => `| \`${type}\` | ${when} |`);
  return `# Events

<!-- Written by packages/server/scripts/write-docs.mjs: change that, or packages/contract/src/events.ts, instead. -->

Everything that happens in a project is an event: files that are recorded, changed and deleted, uploads that are aborted, tickets that are used up, a quota that is reached, and every
change of access. An event is written in the transaction of the change it reports, so there is never one without the other. Each project numbers its
events 1, 2, 3 and so on (\`seq\`), without a gap; the events of one file or folder are in the order of its changes.

## Read them

With \`CADIZ_URL\`, \`CADIZ_PROJECT_ID\` and \`CADIZ_API_KEY\` set, as for [\`cadiz\`](cli.md#environment):

\`\`\`bash
curl "$CADIZ_URL/api/storage/events?projectId=$CADIZ_PROJECT_ID&after=latest" -H "Authorization: Bearer $CADIZ_API_KEY"
# {"events":[],"cursor":"41"}
curl "$CADIZ_URL/api/storage/events?projectId=$CADIZ_PROJECT_ID&after=41&wait=30" -H "Authorization: Bearer $CADIZ_API_KEY"
\`\`\`

\`\`\`json
{
  "events": [
    {
      "id": "01a206a4-0f64-7000-8000-0fcb652fc7bf",
      "seq": 42,
      "type": "file.created",
      "at": "2026-11-23T04:22:24.868Z",
      "projectId": "01a206a4-0eee-7504-bf39-9d4c75e60f02",
      "actor": { "apiKeyId": "01a206a4-0f29-7541-b611-241ef905ba2e" },
      "data": { "id": "01a206a4-0f64-7789-9618-40c91c526865", "fileName": "photo.jpg", "fileSize": 48213, "…": "as in every answer with a file" }
    }
  ],
  "cursor": "42"
}
\`\`\`

- \`cursor\` is where to continue: the \`after\` of the next request. Without \`after\`, you get everything that is kept, oldest first; \`after=latest\` starts now.
- A page includes every change that was confirmed before you asked for it, so a file you have just uploaded is there.
- \`wait\` (0 to 30 seconds) makes a request that would find nothing wait until there is something. If its access ends meanwhile, it is answered within a second as the next request would be: 401, 403 or 404.
- \`types=file.created,file.deleted\` selects types; \`limit\` is 100 by default (1 to 1000). A page can have fewer, or none, although more follow: ask again with its \`cursor\`.
- Events are kept for 30 days (\`EVENT_RETENTION_DAYS\`). A cursor from before that is answered with 410 \`cursor_expired\` and, in \`cursor\`, the oldest that can be used: compare with
  the listing then, and go on from there.
- A key needs \`files:read\` and must not be tied to a folder. Events about access are only for signed-in owners of the project: if a key asks for their \`types\`, \`Cadiz-Warning\` says that they are left out.
  Quarantines are among them, although files go and come back with them: a copy that a program keeps with a key is compared with the listing now and then.

## Stream them

The same route answers \`Accept: text/event-stream\` with [server-sent events](https://html.spec.whatwg.org/multipage/server-sent-events.html). The id of each is its
\`seq\`, so an \`EventSource\` that reconnects misses nothing (\`Last-Event-ID\`). At the beginning, and every 10 seconds while nothing happens, comes a block with an \`id\` and no \`data\`: it is no event,
keeps the connection alive, and says from where to continue. A client that does not read is cut off, and can continue
from the last id. A key that is revoked or expires, a member who is removed, or a session that is ended gets no more events; the stream ends at the next one, or
within 10 seconds.

\`\`\`bash
curl -N "$CADIZ_URL/api/storage/events?projectId=$CADIZ_PROJECT_ID&after=latest" -H "Accept: text/event-stream" -H "Authorization: Bearer $CADIZ_API_KEY"
\`\`\`

On a terminal, [\`cadiz events --follow\`](cli.md#events) shows them, one on a line.

## In the client

\`\`\`ts
for await (const event of cadiz.events.follow({ after: lastSeq, types: ['file.created', 'file.deleted'] })) {
  await handle(event);
  lastSeq = event.seq; // store it, and pass it as \`after\` next time
}
\`\`\`

You can get an event twice if you stop between handling it and storing its \`seq\`: its \`id\` stays the same.

## Every type

A file or folder in \`data\` is as it was right after the change. \`actor\` is \`{userId}\`, \`{apiKeyId}\` or \`{ticketId}\`, or null if the service did it by itself.

| type | when | \`data\` |
|---|---|---|
${rows.join('\n')}

For owners only; \`data\` has ids, names and counts:

| type | when |
|---|---|
${access.join('\n')}
`;
}

/** The fields of an event's data; those of a file or a folder in one word. */
function toFields(/** @type {object} */ schema) {
  const names = 'shape' in schema && schema.shape ? Object.keys(schema.shape) : [];
  for (const [word, schema] of Object.entries({ 'the file': File, 'the folder': Folder })) {
    const own = Object.keys(schema.shape);
    if (!own.every((name) => names.includes(name))) continue;
    const more = names.filter((name) => !own.includes(name));
    return [word, ...more.map((name) => `\`${name}\``)].join(', ');
  }
  return names.map((name) => `\`${name}\``).join(', ');
}

function toErrorsPage() {
  const entries = Object.entries(errorCatalogue);
  return `# Errors

<!-- Written by packages/server/scripts/write-docs.mjs: change packages/contract/src/errors.ts instead. -->

Every failure is \`application/problem+json\` ([RFC 9457](https://www.rfc-editor.org/rfc/rfc9457)):

\`\`\`json
{
  "type": "http://localhost:4000/errors/upload_missing",
  "title": "The object has not been uploaded.",
  "status": 409,
  "detail": "The object has not been uploaded.",
  "code": "upload_missing",
  "requestId": "64365813-882a-406e-874a-d2c27bd9a4b7"
}
\`\`\`

\`code\` is stable: write programs against it. \`title\` is the same in every answer with this code; \`detail\` describes this
particular request. \`requestId\` also appears in the log of the service and in the header \`X-Request-Id\`. \`invalid_request\` also has
\`issues\`, a list of \`{path, message}\` with every wrong field at once. \`not_ready\` and \`dependency_down\` have \`dependencies\`. The service also
shows each section below at the URL in \`type\`.

| code | status | |
|---|---|---|
${entries.map(([code, { status, title }]) => `| [\`${code}\`](#${code}) | ${status} | ${title} |`).join('\n')}
${entries.map(toErrorSection).join('')}`;
}

/** @param {[string, import('@cadiz/contract').ErrorEntry]} entry */
function toErrorSection([code, { status, title, happened, mend }]) {
  return `
## ${code}

**${status}** · ${title}

**What happened:** ${happened}

**How to fix it:** ${mend}
`;
}

function toSettingsPage() {
  const rows = Object.entries(settings).map(
    ([name, setting]) => `| \`${name}\` | ${toDefault(setting)} | ${toCell(setting.sentence)} |`,
  );
  return `# Settings

<!-- Written by packages/server/scripts/write-docs.mjs: change packages/server/src/settings/table.ts instead. -->

Settings are environment variables. A file \`.env\` (UTF-8) in the folder in which the service is started is read as well; the
environment takes precedence over it. An empty variable, such as \`S3_ENDPOINT=\` from Compose or Kubernetes, counts as not set, and
does not hide a value in \`.env\`. All mistakes are reported together at the start, and the service ends with exit code 1. A misspelt name is a mistake if it can only be meant for Cadiz:
\`CADIZ_…\`, and a near miss in \`.env\`. Elsewhere it is a warning.

| name | default | |
|---|---|---|
${rows.join('\n')}
`;
}

/** @param {import('../dist/settings/setting.js').Setting} setting */
function toDefault({ default: value, otherwise = 'not set' }) {
  return value === undefined ? toCell(otherwise) : `\`${value}\``;
}

/** @param {string} text */
function toCell(text) {
  return text.replaceAll('|', '\\|');
}
