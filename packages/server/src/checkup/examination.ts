import { hash, randomBytes } from 'node:crypto';
import { createPresigner, createRequestSigner, uriEncode, uriEncodePath } from '@cadiz/sigv4';
import type { XmlElement } from '@cadiz/store/xml-reader';
import { findDocument } from '@cadiz/store/xml-reader';
import type { Config } from '../settings/config.ts';
import type { ObjectStore } from '../store/object-store.ts';
import { childrenOf, textOf } from '../store/s3-answer.ts';
import type { S3Settings } from '../store/s3-settings.ts';
import { createS3Store } from '../store/s3-store.ts';
import { type Answer, type Sent, send, sendByHand } from './requests.ts';

/** A request of the service itself, signed in its header. */
export interface Asked {
  method: string;
  /** the bucket itself if omitted */
  key?: string;
  query?: Record<string, string>;
  headers?: Record<string, string>;
  body?: string;
  /** credentials other than the service's own */
  as?: { accessKeyId?: string; secretAccessKey?: string };
}

export interface ExaminationOptions {
  settings: S3Settings;
  /** CADIZ_PUBLIC_URL */
  publicUrl: string;
  /** The origins whose pages must be able to upload. */
  origins: readonly string[];
  /** UPLOAD_DEADLINE_SECONDS, LINKS_STREAM, LINKS_CACHE_SECONDS, IMAGES, IMAGES_VIDEO and IMAGES_SVG */
  config: Pick<
    Config,
    'uploadDeadlineSeconds' | 'linksStream' | 'linksCacheSeconds' | 'images' | 'imagesVideo' | 'imagesSvg'
  >;
  now: () => number;
  signal: AbortSignal;
}

/** What a check works with. Everything it creates is under a prefix of its own, and is removed by `sweep`. */
export interface Examination extends Readonly<ExaminationOptions> {
  /** The service's own adapter, with the service's own signer. */
  objects: ObjectStore;
  /** `cadiz-doctor/<random>/` */
  prefix: string;
  /** An unused key, which is removed at the end. */
  newKey(name: string): string;
  /** Starts a multipart upload, which is aborted at the end; returns its id. Throws the signal's reason. */
  begin(key: string): Promise<string>;
  /** Sends a request as the service does, to S3_ENDPOINT. */
  ask(asked: Asked): Promise<Answer>;
  /** Sends a request as a client does, exactly as given. */
  send(sent: Sent): Promise<Answer>;
  /** Sends a request as a hostile client might, with exactly these header lines. */
  sendByHand(url: string, lines: readonly string[], body: string): Promise<number>;
  /** The URL of an object without any signature. */
  plainUrl(key?: string): string;
  /** A URL for a PUT of `sizeBytes` that expired an hour ago. */
  presignExpired(key: string, sizeBytes: number): string;
  /** The answer to a first, signed listing, which is requested only once. */
  first(): Promise<Answer>;
  /** Removes everything the checks have created, and nothing else; returns the keys that may still exist. */
  sweep(): Promise<string[]>;
  close(): void;
}

const hourMilliseconds = 3_600_000;

export function createExamination(options: ExaminationOptions): Examination {
  const { settings, now, signal } = options;
  const { bucket } = settings;
  const prefix = `cadiz-doctor/${randomBytes(8).toString('hex')}/`;
  const objects = createS3Store(settings, now);
  const presignUpload = createPresigner({ ...settings, ...settings.upload, endpoint: settings.publicEndpoint });
  const endpoint = new URL(settings.endpoint);
  const basePath = endpoint.pathname.replace(/\/$/, '');
  const keys = new Set<string>();
  const uploads: { key: string; uploadId: string }[] = [];
  let firstAnswer: Promise<Answer> | undefined;

  function ask({ method, key, query = {}, headers, body = '', as }: Asked, until: AbortSignal): Promise<Answer> {
    const path = `${basePath}/${bucket}${key === undefined ? '' : `/${key}`}`;
    const signed = createRequestSigner({ ...settings, ...as })({
      method,
      host: endpoint.host,
      path,
      query,
      payloadHash: hash('sha256', body, 'hex'),
      now: now(),
      ...(headers && { headers }),
    });
    return send({ method, url: endpoint.origin + uriEncodePath(path) + toSearch(query), headers: signed, body }, until);
  }

  const plainUrl = (key?: string) =>
    `${settings.publicEndpoint}/${bucket}${key === undefined ? '' : `/${uriEncodePath(key)}`}`;

  /** What is left under the prefix, including versions of removed objects if the bucket keeps them. */
  async function findLeft(until: AbortSignal): Promise<{ key: string; versionId: string }[]> {
    const { status, text } = await ask({ method: 'GET', query: { versions: '', prefix } }, until);
    const root = status === 200 ? findDocument(text) : undefined;
    const left =
      root?.name === 'ListVersionsResult'
        ? ['Version', 'DeleteMarker'].flatMap((name) => childrenOf(root, name)).map(toVersion)
        : (await objects.list(prefix)).objects.map(({ storeKey }) => ({ key: storeKey, versionId: '' }));
    // If a store ignores the prefix, the doctor must still not remove what is not its own.
    return left.filter(({ key }) => key.startsWith(prefix));
  }

  async function sweep(until: AbortSignal): Promise<string[]> {
    if (keys.size === 0) return [];
    const works = [
      ...uploads.map(
        ({ key, uploadId }) =>
          () =>
            objects.abortMultipart(key, uploadId),
      ),
      ...[...keys].map((key) => () => ask({ method: 'DELETE', key }, until)),
    ];
    // A failure must not keep the others from being removed; leftovers are found below.
    for (const work of works) await work().catch(() => undefined);
    for (const { key, versionId } of await findLeft(until)) {
      await ask({ method: 'DELETE', key, ...(versionId && { query: { versionId } }) }, until);
    }
    return (await findLeft(until)).map(({ key }) => key);
  }

  return {
    ...options,
    objects,
    prefix,
    newKey(name) {
      const key = `${prefix}${name}`;
      keys.add(key);
      return key;
    },
    async begin(key) {
      // The check may go on after the sweep, which would not know this upload.
      signal.throwIfAborted();
      const uploadId = await objects.createMultipart(key);
      uploads.push({ key, uploadId });
      return uploadId;
    },
    ask: (asked) => ask(asked, signal),
    send: (sent) => send(sent, signal),
    sendByHand: (url, lines, body) => sendByHand(url, lines, body, signal),
    plainUrl,
    presignExpired: (key, sizeBytes) =>
      presignUpload({
        method: 'PUT',
        bucket,
        key,
        contentLength: sizeBytes,
        expiresInSeconds: 1,
        now: now() - hourMilliseconds,
      }),
    first() {
      firstAnswer ??= ask({ method: 'GET', query: { 'list-type': '2', 'max-keys': '1', prefix } }, signal);
      return firstAnswer;
    },
    // Also after Ctrl-C: everything created must be removed.
    sweep: () => sweep(new AbortController().signal).catch(() => [...keys]),
    close: () => objects.close(),
  };
}

function toVersion(entry: XmlElement): { key: string; versionId: string } {
  return { key: textOf(entry, 'Key'), versionId: textOf(entry, 'VersionId') };
}

function toSearch(query: Record<string, string>): string {
  const pairs = Object.entries(query).map(([name, value]) => `${uriEncode(name)}=${uriEncode(value)}`);
  return pairs.length === 0 ? '' : `?${pairs.join('&')}`;
}
