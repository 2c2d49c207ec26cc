// @ts-check
// Writes docs/errors.md, docs/settings.md, the client's error codes and the console's operations from the built catalogues.
// With --check it writes nothing, names the files that are out of date, and ends with 1 if there are any.
import { readFileSync, writeFileSync } from 'node:fs';
import { errorCatalogue, routes } from '@cadiz/contract';
import { settings } from '../dist/settings/table.js';

const command = 'npm run build && npm run docs';
const pages = {
  'docs/errors.md': toErrorsPage(),
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

Settings are environment variables. A file \`.env\` in the folder in which the service is started is read as well; the
environment takes precedence over it. An empty variable counts as not set. All mistakes are reported together at the
start, and the service ends with exit code 1. A misspelt name is a mistake if it can only be meant for Cadiz:
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
