// @ts-check
// The least that recording an upload takes, by hand: look up the key's hash, make plain checks, one HEAD to the object store, and one
// insert into a table with the columns of `files` and three indexes. It has an embedded store of its own, and presigns for it.
// usage: record-by-hand.mjs <port> <data folder> <DATABASE_URL>
import { hash, randomBytes, randomUUID } from 'node:crypto';
import http from 'node:http';
import pg from 'pg';
import {
  createPresigner,
  createRequestSigner,
  emptyPayloadHash,
  uriEncodePath,
} from '../../packages/sigv4/dist/index.js';
import { startStoreThread } from '../../packages/store/dist/index.js';

const [port = '', dataDir = '', databaseUrl = ''] = process.argv.slice(2);
const bucket = 'cadiz';
const credentials = { accessKeyId: randomBytes(10).toString('hex'), secretAccessKey: randomBytes(20).toString('hex') };

const pool = new pg.Pool({ connectionString: databaseUrl, max: 10 });
await pool.query(`
  create table files (
    project_id uuid not null, id uuid not null, store_key text collate "C" not null, file_name text not null, file_size bigint not null,
    mime_type text not null, folder_id uuid, etag text not null, created_by_user uuid, created_by_key uuid,
    created_at timestamptz(3) not null, updated_at timestamptz(3) not null, name_key text collate "C" not null,
    trash_id uuid, trashed_at timestamptz(3), trashed_by_user uuid, trashed_by_key uuid, detected_mime_type text,
    content_check text not null, check_at timestamptz(3), sha256 bytea, sha256_state text,
    primary key (project_id, id), unique (project_id, store_key)
  );
  create index on files (project_id, name_key, id)`);
const insert = `insert into files (project_id, id, store_key, file_name, name_key, file_size, mime_type, folder_id, etag, created_by_key,
    created_at, updated_at, content_check)
  values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $11, 'unknown') on conflict (project_id, store_key) do nothing`;

const store = await startStoreThread({
  ...credentials,
  host: '127.0.0.1',
  port: 0,
  dataDir,
  presignedOverwrite: 'deny',
});
const signing = { region: 'us-east-1', ...credentials };
const presign = createPresigner({ ...signing, endpoint: `http://127.0.0.1:${store.port}` });
const sign = createRequestSigner(signing);
const agent = new http.Agent({ keepAlive: true, maxSockets: 64 });
await send('PUT', `/${bucket}`);

/** The ids of keys by their hash. @type {Map<string, string>} */
const known = new Map([[hash('sha256', 'by-hand', 'hex'), randomUUID()]]);

/** @type {Record<string, (body: any, keyId: string) => Promise<object>>} */
const answers = {
  '/api/storage/presign': async ({ projectId, fileName, fileSize }) => {
    const now = Date.now();
    const storeKey = `${projectId}/${now}${randomBytes(16).toString('hex')}-${fileName}`;
    const to = { method: /** @type {const} */ ('PUT'), bucket, key: storeKey, contentLength: fileSize };
    return { presignedUrl: presign({ ...to, expiresInSeconds: 900, now }), storeKey };
  },
  '/api/storage/record': async ({ projectId, storeKey, fileName, fileSize, mimeType, folderId }, keyId) => {
    const { statusCode, headers } = await send('HEAD', `/${bucket}/${storeKey}`);
    if (statusCode !== 200 || Number(headers['content-length']) !== fileSize)
      throw new Error('The object is another one');
    const id = randomUUID();
    const at = new Date();
    const etag = (headers.etag ?? '').replaceAll('"', '');
    const nameKey = fileName.normalize('NFC').toLowerCase().toUpperCase().normalize('NFC');
    const values = [projectId, id, storeKey, fileName, nameKey, fileSize, mimeType, folderId, etag, keyId, at];
    const { rowCount } = await pool.query({ name: 'record', text: insert, values });
    if (rowCount !== 1) throw new Error('It was recorded before');
    const facts = { id, projectId, storeKey, fileName, fileSize, mimeType, folderId, etag };
    return { ...facts, createdAt: at.toISOString(), updatedAt: at.toISOString() };
  },
};

const server = http.createServer((request, response) => {
  if (request.method === 'GET') return void response.end();
  /** @type {Buffer[]} */
  const chunks = [];
  request.on('data', (chunk) => chunks.push(chunk));
  request.on('end', async () => {
    try {
      const keyHash = hash('sha256', (request.headers.authorization ?? '').slice('Bearer '.length), 'hex');
      const keyId = known.get(keyHash);
      if (keyId === undefined) throw new Error('Not a key');
      const body = JSON.parse(Buffer.concat(chunks).toString());
      const { projectId, fileName, mimeType, fileSize, folderId } = body;
      const texts = typeof projectId === 'string' && typeof fileName === 'string' && typeof mimeType === 'string';
      if (!texts || fileName.includes('/') || !Number.isSafeInteger(fileSize) || folderId !== null)
        throw new Error('Bad input');
      const text = JSON.stringify(await answers[request.url ?? '']?.(body, keyId));
      const headers = { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(text) };
      response.writeHead(200, headers).end(text);
    } catch (error) {
      console.error(error);
      response.writeHead(500).end();
    }
  });
});
server.listen(Number(port), '127.0.0.1');
process.on('SIGTERM', () => process.exit(0));

/**
 * @param {'HEAD' | 'PUT'} method
 * @param {string} path
 * @returns {Promise<http.IncomingMessage>} with its body read
 */
function send(method, path) {
  const headers = sign({
    method,
    host: `127.0.0.1:${store.port}`,
    path,
    payloadHash: emptyPayloadHash,
    now: Date.now(),
  });
  return new Promise((resolve, reject) => {
    const request = http.request({
      agent,
      method,
      hostname: '127.0.0.1',
      port: store.port,
      path: uriEncodePath(path),
      headers,
    });
    request.on('response', (response) => response.resume().on('end', () => resolve(response)));
    request.on('error', reject);
    request.end();
  });
}
