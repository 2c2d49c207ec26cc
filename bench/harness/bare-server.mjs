// @ts-check
// The baseline: the cost of plain node:http. It reads the body, parses it, and answers with JSON of the same shape as the
// service's; it checks, signs and looks up nothing. usage: bare-server.mjs <port> [<file of the listing>]
// Under /by-hand/ it does what every presign must do: look up the key's hash, make plain checks, compute the same signature.
// Under /by-hand-whole/ it also makes all the service's checks of the fields and answers with all its headers.
import { isUtf8 } from 'node:buffer';
import { hash, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import http from 'node:http';
import { createPresigner } from '../../packages/sigv4/dist/index.js';

const [port = '', listingFile] = process.argv.slice(2);
const listing = listingFile ? readFileSync(listingFile) : Buffer.alloc(0);
const folder = '0199f3a0-0000-7000-8000-000000000000';
const signature = '0123456789abcdef'.repeat(4);
const query = `X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=0123456789abcdef0123%2F20261121%2Fus-east-1%2Fs3%2Faws4_request&X-Amz-Date=20261121T000000Z&X-Amz-Expires=900&X-Amz-SignedHeaders=content-length%3Bhost&X-Amz-Signature=${signature}`;

const presign = createPresigner({
  endpoint: 'http://localhost:4001',
  region: 'us-east-1',
  accessKeyId: '0123456789abcdef0123',
  secretAccessKey: '0123456789abcdef0123456789abcdef',
});
/** Hashes of keys that were seen; the first request with one makes it known. @type {Map<string, boolean>} */
const known = new Map();

/**
 * @param {any} body
 * @param {string} authorization
 */
function presignByHand({ projectId, fileName, mimeType, fileSize, folderId }, authorization) {
  const keyHash = hash('sha256', authorization.slice('Bearer '.length), 'hex');
  if (!known.has(keyHash)) known.set(keyHash, true);
  const texts = typeof projectId === 'string' && typeof fileName === 'string' && typeof mimeType === 'string';
  if (!texts || fileName.includes('/') || !Number.isSafeInteger(fileSize) || folderId !== null) throw new Error();
  const now = Date.now();
  const storeKey = `${projectId}/${now}123456-${fileName}`;
  const to = { method: /** @type {const} */ ('PUT'), bucket: 'cadiz', key: storeKey, contentLength: fileSize };
  return { presignedUrl: presign({ ...to, expiresInSeconds: 900, now }), storeKey };
}

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
// biome-ignore lint/suspicious/noControlCharactersInRegex: finding control characters is the purpose
const refusedInNames = /[\u0000-\u001f\u007f-\u009f/\\]/;
const mediaType = /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+$/;

/** @type {Record<string, (body: any, authorization: string) => object>} */
const answers = {
  '/by-hand/presign': presignByHand,
  '/by-hand-whole/presign': (body, authorization) => {
    const { projectId, fileName, mimeType, fileSize } = body;
    if (!uuid.test(projectId) || !mediaType.test(mimeType) || fileSize < 0) throw new Error();
    if (refusedInNames.test(fileName) || fileName === '' || fileName === '.' || fileName === '..') throw new Error();
    if (!fileName.isWellFormed() || Buffer.byteLength(fileName) > 255) throw new Error();
    return presignByHand({ ...body, projectId: projectId.toLowerCase() }, authorization);
  },
  '/api/storage/presign': ({ projectId, fileName }) => {
    const storeKey = `${projectId}/1795238340000123456-${fileName}`;
    return { presignedUrl: `http://localhost:4001/cadiz/${storeKey}?${query}`, storeKey };
  },
  '/api/storage/record': ({ projectId, storeKey, fileName, fileSize, mimeType, folderId }) => {
    const at = '2026-11-21T00:00:00.000Z';
    const etag = 'd41d8cd98f00b204e9800998ecf8427e';
    const times = { createdAt: at, updatedAt: at };
    return { id: folder, projectId, storeKey, fileName, fileSize, mimeType, folderId, etag, ...times };
  },
};

const server = http.createServer((request, response) => {
  if (request.method === 'GET') return send(response, listing);
  /** @type {Buffer[]} */
  const chunks = [];
  request.on('data', (chunk) => chunks.push(chunk));
  request.on('end', () => {
    const answer = answers[request.url ?? ''];
    const bytes = Buffer.concat(chunks);
    const body = JSON.parse(bytes.toString());
    const text = JSON.stringify(answer?.(body, request.headers.authorization ?? ''));
    if (request.url?.startsWith('/by-hand-whole/')) sendWhole(request, response, bytes, text);
    else send(response, text);
  });
});

/**
 * Checks what the service checks of every request, and answers with its headers.
 * @param {http.IncomingMessage} request
 * @param {http.ServerResponse} response
 * @param {Buffer} bytes of the request's body
 * @param {string} body
 */
function sendWhole({ headers }, response, bytes, body) {
  if (headers['content-type'] !== 'application/json' || bytes.length > 64 * 1024 || !isUtf8(bytes)) throw new Error();
  const all = [
    ...['Cache-Control', 'no-store', 'X-Content-Type-Options', 'nosniff', 'Referrer-Policy', 'no-referrer'],
    ...['Content-Security-Policy', "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"],
    ...['Cross-Origin-Resource-Policy', 'same-origin', 'Content-Type', 'application/json'],
    ...['X-Request-Id', randomUUID(), 'Content-Length', String(Buffer.byteLength(body))],
  ];
  response.writeHead(200, all).end(body);
}

/**
 * @param {http.ServerResponse} response
 * @param {string | Buffer} body
 */
function send(response, body) {
  response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) }).end(body);
}

server.listen(Number(port), '127.0.0.1');
process.on('SIGTERM', () => process.exit(0));
