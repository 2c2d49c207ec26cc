// Uploads and lists one file with a client that is typed by the OpenAPI document alone.
import createClient from 'openapi-fetch';
import type { components, paths } from './client.js';

const [baseUrl = '', email = '', password = ''] = process.argv.slice(2);

/** @throws Error with the problem, where the answer is one */
function requireData<T>({ data, error }: { data?: T; error?: components['schemas']['Problem'] }): T {
  if (data === undefined) throw new Error(`${error?.code}: ${error?.detail}`);
  return data;
}

const visitor = createClient<paths>({ baseUrl });
const signedIn = await visitor.POST('/api/auth/sign-in/email', { body: { email, password } });
requireData(signedIn);
const cookie = signedIn.response.headers
  .getSetCookie()
  .map((line) => line.split(';')[0])
  .join('; ');
const session = createClient<paths>({ baseUrl, headers: { cookie } });

const { id: projectId } = requireData(await session.POST('/api/projects', { body: { name: 'Typed client' } }));
const { key } = requireData(await session.POST('/api/api-keys', { body: { name: 'Typed client', projectId } }));
const client = createClient<paths>({ baseUrl, headers: { authorization: `Bearer ${key}` } });

const bytes = new TextEncoder().encode('Hello from a typed client');
const upload = { projectId, fileName: 'typed.txt', mimeType: 'text/plain', fileSize: bytes.length, folderId: null };
const { presignedUrl, storeKey } = requireData(await client.POST('/api/storage/presign', { body: upload }));
const put = await fetch(presignedUrl, { method: 'PUT', body: bytes });
if (!put.ok) throw new Error(`PUT: ${put.status}`);
const file: components['schemas']['File'] = requireData(
  await client.POST('/api/storage/record', { body: { ...upload, storeKey } }),
);
const { files } = requireData(await client.GET('/api/storage/list', { params: { query: { projectId } } }));
if (files.length !== 1 || files[0]?.id !== file.id) throw new Error('The file is not listed');

const missing = await client.GET('/api/storage/files/{id}', { params: { path: { id: projectId } } });
if (missing.error?.code !== 'file_not_found') throw new Error('An absent file has a code of its own');
console.log(`typed client: uploaded and listed ${file.fileName}, ${file.fileSize} bytes`);
