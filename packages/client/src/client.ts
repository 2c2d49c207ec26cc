import { type CadizError, invalid } from './error.ts';
import { type Following, finished } from './operation.ts';
import type { Call } from './request.ts';
import { retrying } from './retry.ts';
import type {
  ApiKey,
  Counts,
  CreatedApiKey,
  CreatedTicket,
  DownloadUrl,
  Event,
  EventPage,
  EventType,
  File,
  Folder,
  Ids,
  ImageOptions,
  Link,
  ListedFile,
  ListedFolder,
  Listing,
  Many,
  Metadata,
  Operation,
  OwnApiKey,
  OwnTicket,
  Restored,
  Scope,
  Selection,
  Ticket,
  TicketOptions,
  TrashEntry,
  Trashed,
  Upload,
  Usage,
  UsageOfDay,
} from './types.ts';
import { split, toPath } from './upload/folders.ts';
import type { UploadOptions } from './upload/job.ts';
import { createKnownFolders } from './upload/known-folders.ts';
import { createQueue, type QueueEntry, type UploadQueue } from './upload/queue.ts';
import type { Source } from './upload/source.ts';
import { createUploader, type UploaderOptions } from './upload/uploader.ts';

/** What a listing shows, and in which order. */
export interface ListOptions {
  /** A folder's id or path, or null for the root: what is in it. Everything in the project by default. */
  folder?: string | null | undefined;
  /** Part of the name. */
  search?: string | undefined;
  sort?: 'name' | 'createdAt' | 'fileSize' | undefined;
  order?: 'asc' | 'desc' | undefined;
  /** Only files with these facts; at most three. */
  metadata?: Metadata | undefined;
  externalId?: string | undefined;
  /** Whether pages say `total`, and how many files and folders are in each folder. */
  counts?: boolean | undefined;
  /** Whether each file and folder says its `path`. */
  paths?: boolean | undefined;
  /**
   * Whether images say a `thumbnailUrl`: the side of the square that they fit inside, in pixels, or else their width. 1 to
   * 4096.
   */
  thumbnail?: number | undefined;
}

/** What a URL serves, and for how long. */
export interface UrlOptions {
  /** Seconds; an hour by default. */
  expiresIn?: number | undefined;
  disposition?: 'inline' | 'attachment' | undefined;
  /** Serves an image in this form. */
  image?: ImageOptions | undefined;
}

/** Which events, and from where on. */
export interface FollowOptions<Of extends EventType = EventType> {
  /** The `seq` of an event or the `cursor` of a page: what came after it. `latest`: what happens from now on. */
  after?: string | number | undefined;
  /** All by default. */
  types?: readonly Of[] | undefined;
  signal?: AbortSignal | undefined;
}

/** Which page of events. */
export interface EventOptions<Of extends EventType = EventType> extends FollowOptions<Of> {
  /** From 1 to 1000. */
  limit?: number | undefined;
  /** How many seconds to wait for an event if there is none, at most 30. */
  wait?: number | undefined;
}

/** Which page. */
export interface PageOptions {
  /** From 1 to 1000. */
  limit?: number | undefined;
  /** The `nextCursor` of the page before. */
  cursor?: string | null | undefined;
  signal?: AbortSignal | undefined;
}

/** A page of files and folders. */
export interface ListPageOptions extends ListOptions, PageOptions {}

/** A request to any route of the service that answers JSON. */
export interface ClientRequest {
  /** GET by default. */
  method?: Call['method'] | undefined;
  /** From the root of the service on, such as `/api/projects`; each part that is not fixed through `encodeURIComponent`. */
  path: string;
  /** Values that are undefined or null are left out. */
  query?: ClientCall['query'];
  /** Sent as JSON. */
  body?: unknown;
  /** Beside those of every request, such as `X-Invitation`. */
  headers?: Call['headers'];
  signal?: AbortSignal | undefined;
  /**
   * Whether repeating it could change something twice, so that it is repeated only if it certainly was not done. By
   * default true for everything but GET.
   */
  isOnce?: boolean | undefined;
}

/** One page of a list. */
export interface Page<T> {
  items: T[];
  /** Where the next page begins; null after the last. */
  nextCursor: string | null;
}

interface ClientCall extends Call {
  query?: Record<string, unknown> | undefined;
  /** Whether it changes something more if it is repeated, so that it is repeated only if it certainly was not done. */
  isOnce?: boolean;
}

/** 429 and 503 with Retry-After are answered before anything is done. */
const isCertainlyUndone = ({ status, retryAfter }: CadizError): boolean =>
  status === 429 || (status === 503 && retryAfter !== undefined);

function toQuery(fields: ClientCall['query'] = {}): string {
  const given = Object.entries(fields).filter(([, value]) => value !== undefined && value !== null);
  // That of React Native cannot do much more.
  const query = new URLSearchParams(Object.fromEntries(given) as Record<string, string>);
  return `${given[0] ? '?' : ''}${query}`;
}

/** The path of one thing; whatever the id is, it stays one part of the path. */
const at = (kind: string, id: string, rest = '') => `/api/storage/${kind}/${encodeURIComponent(id)}${rest}`;

/** What `createClient` makes. */
export type Client = ReturnType<typeof createClient>;

/**
 * Makes a client of one project.
 *
 * @example
 * // On a server
 * const cadiz = createClient({ baseUrl: 'https://media.example.com', apiKey: process.env.CADIZ_API_KEY });
 * const file = await cadiz.upload(photo, { folder: 'holiday/2027' });
 *
 * @example
 * // In a browser: `/api/upload-ticket` is your own route, made with `createTicketHandler`
 * const cadiz = createClient({
 *   baseUrl: 'https://media.example.com',
 *   ticket: () => fetch('/api/upload-ticket', { method: 'POST' }).then((answer) => answer.json()),
 * });
 */
export function createClient(options: UploaderOptions) {
  const uploader = createUploader(options, createKnownFolders);
  const { project, root, retries } = uploader;

  async function send<T>({ query, isOnce, path, ...call }: ClientCall): Promise<T> {
    const isPassing = isOnce ? isCertainlyUndone : undefined;
    return (await uploader.send<T>({ ...call, path: path + toQuery(query), isPassing })).answer;
  }

  const get = <T>(path: string, query?: ClientCall['query']) => send<T>({ method: 'GET', path, query });
  const patch = <T>(path: string, body: unknown) => send<T>({ method: 'PATCH', path, body });
  /** What does the same if it is done twice. */
  const post = <T>(path: string, body: unknown) => send<T>({ method: 'POST', path, body });
  const remove = <T>(path: string, query?: ClientCall['query']) => send<T>({ method: 'DELETE', path, query });
  /** What does something more, or fails, if it is done twice. */
  const postOnce = <T>(path: string, body: unknown) => send<T>({ method: 'POST', path, body, isOnce: true });
  const removeOnce = <T>(path: string, query?: ClientCall['query']) =>
    send<T>({ method: 'DELETE', path, query, isOnce: true });

  /** With the project. */
  const mine = async <T extends object>(more?: T) => ({ projectId: await project(), ...more });

  async function* all<T>(page: (cursor: string | null) => Promise<Page<T>>): AsyncGenerator<T, void> {
    let cursor: string | null = null;
    do {
      const { items, nextCursor }: Page<T> = await page(cursor);
      yield* items;
      cursor = nextCursor;
    } while (cursor);
  }

  /** A list that the service answers in pages, whose items it calls by this name. */
  function paged<T, Q extends object = object>(path: string, name: string, toFields = (asked: Q): object => asked) {
    async function page({ signal, ...asked }: Q & PageOptions = {} as Q): Promise<Page<T>> {
      const answer = await send<Record<string, T[]> & { nextCursor: string | null }>({
        method: 'GET',
        path,
        query: (await toFields(asked as unknown as Q)) as ClientCall['query'],
        signal,
      });
      return { items: answer[name] ?? [], nextCursor: answer.nextCursor };
    }
    return {
      /**
       * All of them, a page at a time as they are read.
       *
       * @example
       * for await (const link of cadiz.links.list()) console.log(link.url);
       */
      list: (asked: Q = {} as Q) => all((cursor) => page({ ...asked, cursor })),
      /**
       * One page.
       *
       * @example
       * const { items, nextCursor } = await cadiz.links.page({ limit: 50, cursor });
       */
      page,
    };
  }

  const eventPage = async <Of extends EventType>(
    { types, signal, ...asked }: EventOptions<Of> = {},
    call?: Pick<Call, 'retries'>,
  ) =>
    send<EventPage<Of>>({
      ...call,
      method: 'GET',
      path: '/api/storage/events',
      query: await mine({ ...asked, types: types?.join() }),
      signal,
    });

  /** The id of a folder that must exist. */
  async function toFolderId(folder: string | null | undefined): Promise<string | null | undefined> {
    if (folder === undefined) return undefined;
    const { id, path } = split(folder);
    if (path) return (await getByPath(folder ?? '')).id;
    return id ?? root();
  }

  const getByPath = async (path: string) => get<Folder>('/api/storage/folders', await mine({ path: toPath(path) }));

  async function page(listed: ListPageOptions = {}): Promise<Listing> {
    const { folder, metadata = {}, limit = 1000, signal, ...rest } = listed;
    const folderId = await toFolderId(folder);
    const facts = Object.entries(metadata).map(([name, value]) => [`metadata.${name}`, value]);
    const place = folderId === null ? 'root' : folderId;
    const query = await mine({ limit, ...rest, folderId: place, ...Object.fromEntries(facts) });
    for (let { cursor } = rest; ; ) {
      const found = await send<Listing>({
        method: 'GET',
        path: '/api/storage/list',
        query: { ...query, cursor },
        signal,
      });
      // The service answers a search after a while, even if it has found nothing yet.
      if (found.nextCursor === null || found.files.length + found.folders.length > 0) return found;
      cursor = found.nextCursor;
    }
  }

  const operation = (id: string) => get<Operation>(at('operations', id));

  const toSelect = async ({ folder, ...select }: Selection) =>
    folder === undefined ? select : { ...select, folderId: (await toFolderId(folder)) ?? 'root' };

  /** Changes many, and waits for what goes on in the background. */
  async function changeMany<T extends Counts = Counts>(
    sender: typeof post,
    { onProgress, ...many }: Many & Following = {},
    change: object,
  ): Promise<T | Counts> {
    const select = 'select' in many ? { select: await toSelect(many.select) } : {};
    const body = await mine({ ...many, ...change, ...select });
    return finished(await sender<T | { operation: Operation }>('/api/storage/bulk', body), operation, onProgress);
  }

  return {
    /**
     * Uploads one file: in one piece, or from 64 MiB on in parts that survive a reload. Failures on the way are repeated.
     * It is recorded once, or not at all; after `signal` aborts while it is being recorded, it may still be recorded.
     *
     * @example
     * const file = await cadiz.upload(photo, { folder: 'holiday/2027', metadata: { album: 'beach' } });
     * @throws CadizError
     */
    upload: uploader.upload,

    uploads: {
      /**
       * Uploads many files, several at a time, and asks the service for a hundred of them at once. A picked or dropped folder
       * keeps its structure.
       *
       * @example
       * const queue = cadiz.uploads.create(input.files ?? [], { folder: 'holiday' });
       * queue.subscribe(() => show(queue.snapshot()));
       * await queue.done();
       */
      create: (files?: Iterable<Source | QueueEntry>, options?: UploadOptions): UploadQueue =>
        createQueue(uploader, files, options),
      /** Uploads in parts that have not ended. */
      ...paged<Upload>('/api/storage/uploads', 'uploads', mine),
      /**
       * An upload in parts, with the parts that have arrived.
       *
       * @example
       * const { status, parts, partCount } = await cadiz.uploads.get(uploadId);
       */
      get: (uploadId: string) => get<Upload>(at('uploads', uploadId)),
      /**
       * Ends an upload in parts, and removes what has arrived of it.
       *
       * @example
       * for await (const { uploadId } of cadiz.uploads.list()) await cadiz.uploads.abort(uploadId);
       */
      abort: (uploadId: string) => remove<{ uploadId: string; aborted: true }>(at('uploads', uploadId)),
    },

    files: {
      /**
       * The files of a place, or of the whole project, a page at a time as they are read.
       *
       * @example
       * for await (const file of cadiz.files.list({ folder: 'holiday' })) console.log(file.fileName);
       */
      list: (listed: ListOptions = {}) =>
        all<ListedFile>(async (cursor) => {
          const { files, nextCursor } = await page({ ...listed, cursor });
          return { items: files, nextCursor };
        }),
      /**
       * Files and folders together, with the way to them. A page of a search may have fewer than `limit` although more
       * follow; it is only empty if nothing follows.
       *
       * @example
       * const { files, folders, breadcrumbs, nextCursor } = await cadiz.files.page({ folder: null, limit: 50, cursor });
       */
      page,
      /**
       * One file by its id.
       *
       * @example
       * const { fileName, metadata } = await cadiz.files.get(id);
       */
      get: (id: string) => get<File>(at('files', id)),
      /**
       * Renames it, moves it, changes its metadata (null removes a fact) or its externalId.
       *
       * @example
       * await cadiz.files.update(id, { folder: 'holiday/2027', metadata: { reviewed: true, draft: null } });
       */
      async update(
        id: string,
        change: {
          fileName?: string | undefined;
          folder?: string | null | undefined;
          metadata?: Record<string, string | number | boolean | null> | undefined;
          externalId?: string | null | undefined;
        },
      ): Promise<File> {
        const { folder, ...rest } = change;
        return patch(at('files', id), { ...rest, folderId: await toFolderId(folder) });
      },
      /**
       * Copies it in the store; no byte passes through this program.
       *
       * @example
       * const copy = await cadiz.files.copy(id, { folder: 'archive/2027', fileName: 'draft.txt' });
       */
      copy: async (
        id: string,
        {
          folder = null as string | null,
          ...rest
        }: { folder?: string | null | undefined; fileName?: string | undefined } = {},
      ) => postOnce<File>(at('files', id, '/copy'), { ...rest, folderId: await toFolderId(folder) }),
      /**
       * Puts it into the trash.
       *
       * @example
       * const { restorableUntil } = await cadiz.files.delete(id);
       */
      delete: (id: string) => removeOnce<Trashed>(at('files', id)),
      /**
       * Takes it out of the trash: to its old place, or to the root if that is gone.
       *
       * @example
       * const { folderId, restored } = await cadiz.files.restore(id);
       */
      restore: (id: string) => post<File & { restored: Restored }>(at('files', id, '/restore'), {}),
      /**
       * A URL that serves the file for a while (an hour by default) to whoever has it.
       *
       * @example
       * const { url } = await cadiz.files.url(id, { expiresIn: 600, disposition: 'inline' });
       */
      url: (id: string, how: UrlOptions = {}) => post<DownloadUrl>(at('files', id, '/url'), how),
      /**
       * The URL of an image in another size and format, which is made when it is first asked for. For the public, make a
       * link, and ask that with `imageUrl` and `srcset`.
       *
       * @example
       * const { url } = await cadiz.files.image(id, { w: 640 });
       */
      image: (id: string, image: ImageOptions, how: Omit<UrlOptions, 'image'> = {}) =>
        post<DownloadUrl>(at('files', id, '/url'), { ...how, disposition: how.disposition ?? 'inline', image }),
      /**
       * URLs for up to a thousand files: each answer has a URL or says why there is none.
       *
       * @example
       * for (const one of await cadiz.files.urls(ids)) if ('url' in one) show(one.fileId, one.url);
       */
      urls: (fileIds: string[], how: UrlOptions = {}) =>
        post<{ urls: ((DownloadUrl & { fileId: string }) | { fileId: string; problem: object })[] }>(
          '/api/storage/files/urls',
          { fileIds, ...how },
        ).then(({ urls }) => urls),
      /**
       * The bytes, straight from the store. Check `ok` of the answer. @throws CadizError if the store does not answer
       *
       * @example
       * const text = await (await cadiz.files.download(id)).text();
       */
      async download(id: string, init?: RequestInit): Promise<Response> {
        const signal = init?.signal ?? undefined;
        const call = { method: 'POST', path: at('files', id, '/url'), body: {}, signal } as const;
        const { url } = await send<DownloadUrl>(call);
        return retrying({ retries, signal }, () => (options.fetch ?? fetch)(url, init));
      },
      /**
       * The URL of a ZIP of files and folders.
       *
       * @example
       * const { url } = await cadiz.files.archive({ folderIds: [folder.id], name: 'holiday' });
       */
      archive: async (selected: Ids & { name?: string | undefined; expiresIn?: number | undefined }) =>
        post<DownloadUrl>('/api/storage/archives', await mine(selected)),
      /**
       * Moves many files and folders: those with these ids, or everything in one place.
       *
       * @example
       * await cadiz.files.move({ fileIds: [a.id, b.id], folder: 'archive/2027' });
       */
      move: async ({ folder, ...many }: Many & Following & { folder: string | null }) =>
        changeMany(post, many, { action: 'move', folderId: await toFolderId(folder) }),
      /**
       * Puts many files and folders into the trash.
       *
       * @example
       * await cadiz.files.deleteMany({ select: { folder: 'drafts' }, onProgress: ({ done, total }) => show(done / total) });
       */
      deleteMany: (many: Many & Following) => changeMany(postOnce, many, { action: 'delete' }),
      /**
       * Takes them out of the trash; a selection is what was in that place.
       *
       * @example
       * await cadiz.files.restoreMany({ fileIds: [a.id, b.id] });
       */
      restoreMany: (many: Many & Following): Promise<Counts & { restored?: (Restored & { id: string })[] }> =>
        changeMany(postOnce, many, { action: 'restore' }),
    },

    /** Changes that go on in the background. */
    operations: {
      /**
       * How far a change in the background has come.
       *
       * @example
       * const { done, total } = await cadiz.operations.get(operation.id);
       */
      get: operation,
      /**
       * Ends a change in the background. What is done stays done.
       *
       * @example
       * await cadiz.operations.cancel(operation.id);
       */
      cancel: (id: string) => remove<Operation>(at('operations', id)),
    },

    folders: {
      /**
       * The folders of a place, or of the whole project.
       *
       * @example
       * for await (const folder of cadiz.folders.list({ folder: 'holiday' })) console.log(folder.name);
       */
      list: (listed: ListOptions = {}) =>
        all<ListedFolder>(async (cursor) => {
          const { folders, nextCursor } = await page({ ...listed, cursor });
          return { items: folders, nextCursor };
        }),
      /**
       * One folder by its id.
       *
       * @example
       * const { name, parentId } = await cadiz.folders.get(id);
       */
      get: (id: string) => get<Folder>(at('folders', id)),
      /**
       * One folder by its path.
       *
       * @example
       * const { id } = await cadiz.folders.getByPath('holiday/2027');
       * @throws CadizError folder_not_found
       */
      getByPath,
      /**
       * Creates one folder; if there is one of that name, it fails with `folder_exists`.
       *
       * @example
       * const folder = await cadiz.folders.create('2027', { parent: 'holiday' });
       */
      create: async (name: string, { parent = null as string | null } = {}) =>
        postOnce<Folder>('/api/storage/folders', await mine({ name, parentId: await toFolderId(parent) })),
      /**
       * Creates those of up to a hundred paths that are missing; the last folder of each.
       *
       * @example
       * const [beach, city] = await cadiz.folders.ensure(['holiday/beach', 'holiday/city']);
       */
      ensure: async (paths: string[], { parent = null as string | null } = {}) =>
        post<{ folders: Folder[] }>(
          '/api/storage/folders/ensure',
          await mine({ paths, parentId: await toFolderId(parent) }),
        ).then(({ folders }) => folders),
      /**
       * Renames it, or moves it with everything in it.
       *
       * @example
       * await cadiz.folders.update(id, { name: 'Summer', parent: 'holiday/2027' });
       */
      async update(
        id: string,
        { parent, ...rest }: { name?: string | undefined; parent?: string | null | undefined },
      ): Promise<Folder> {
        return patch(at('folders', id), { ...rest, parentId: await toFolderId(parent) });
      },
      /**
       * Puts it into the trash; one that is not empty only if `recursive`.
       *
       * @example
       * await cadiz.folders.delete(id, { recursive: true });
       */
      delete: (id: string, { recursive = false } = {}) => removeOnce<Trashed>(at('folders', id), { recursive }),
      /**
       * Takes it out of the trash, with what was in it.
       *
       * @example
       * const { parentId, restored } = await cadiz.folders.restore(id);
       */
      restore: (id: string) => post<Folder & { restored: Restored }>(at('folders', id, '/restore'), {}),
    },

    trash: {
      ...paged<TrashEntry>('/api/storage/trash', 'entries', mine),
      /**
       * Empties the trash. Nothing of it can be restored afterwards.
       *
       * @example
       * const { files, bytes } = await cadiz.trash.empty();
       */
      empty: async () => remove<Counts>('/api/storage/trash', await mine()),
    },

    links: {
      /**
       * A URL for the public, which follows the file until it is deleted or expires.
       *
       * @example
       * const { url } = await cadiz.links.create(id, { expiresAt: '2027-12-31T00:00:00Z' });
       */
      create: (
        fileId: string,
        how: {
          expiresAt?: string | undefined;
          disposition?: 'inline' | 'attachment' | undefined;
          image?: ImageOptions | undefined;
        } = {},
      ) => postOnce<Link>('/api/storage/links', { fileId, ...how }),
      /** Of one file, or of the whole project. */
      ...paged<Link, { fileId?: string | undefined }>('/api/storage/links', 'links', (asked) =>
        asked.fileId ? asked : mine(asked),
      ),
      /**
       * Deletes a link. It is dead at once.
       *
       * @example
       * await cadiz.links.delete(link.id);
       */
      delete: (id: string) => removeOnce<{ id: string; deleted: true }>(at('links', id)),
    },

    tickets: {
      /**
       * A ticket for a browser or a phone. `createTicketHandler` makes a route of it.
       *
       * @example
       * const { ticket } = await cadiz.tickets.create({ maxFiles: 20, maxBytes: 100_000_000, mimeTypes: ['image/*'] });
       */
      create: async ({ folderId = null, folder = folderId, ...rest }: TicketOptions) =>
        postOnce<CreatedTicket>('/api/storage/tickets', await mine({ folderId: await toFolderId(folder), ...rest })),
      ...paged<Ticket>('/api/storage/tickets', 'tickets', mine),
      /**
       * Ends a ticket before its time.
       *
       * @example
       * await cadiz.tickets.revoke(ticket.id);
       */
      revoke: (id: string) => remove<Ticket>(at('tickets', id)),
      /**
       * What is left of the ticket that this client has.
       *
       * @example
       * const { left } = await cadiz.tickets.current();
       */
      current: () => get<OwnTicket>('/api/storage/tickets/current'),
    },

    /** API keys are managed by a session. */
    keys: {
      /**
       * Creates a key of the project. No other answer has the key itself.
       *
       * @example
       * const { key } = await cadiz.keys.create('Backups', { scopes: ['files:read'] });
       */
      create: async (
        name: string,
        how: {
          scopes?: Scope[] | undefined;
          folderId?: string | null | undefined;
          expiresAt?: string | null | undefined;
        } = {},
      ) => postOnce<CreatedApiKey>('/api/api-keys', await mine({ name, ...how })),
      /**
       * The keys of the project, without the keys themselves.
       *
       * @example
       * for (const { name, last4, lastUsedAt } of await cadiz.keys.list()) console.log(name, last4, lastUsedAt);
       */
      list: async () => (await get<{ apiKeys: ApiKey[] }>('/api/api-keys', await mine())).apiKeys,
      /**
       * Revokes a key: it stops working for good.
       *
       * @example
       * await cadiz.keys.revoke(id);
       */
      revoke: (id: string) => remove<ApiKey>(`/api/api-keys/${encodeURIComponent(id)}`),
      /**
       * Creates a key that takes the place of another one, which works for one more day, or as long as `overlapSeconds` says.
       *
       * @example
       * const { key } = await cadiz.keys.rotate(id, { overlapSeconds: 3600 });
       */
      rotate: (id: string, how: { overlapSeconds?: number | undefined; expiresAt?: string | null | undefined } = {}) =>
        postOnce<CreatedApiKey>(`/api/api-keys/${encodeURIComponent(id)}/rotate`, how),
      /**
       * What the key of this client is.
       *
       * @example
       * const { name, projectId, scopes } = await cadiz.keys.current();
       */
      current: () => get<OwnApiKey>('/api/storage/key'),
    },

    /**
     * Any route of the service, for those that have no method here.
     *
     * @example
     * const { projects } = await cadiz.request<{ projects: Project[] }>({ path: '/api/projects' });
     * @returns the JSON that the service answers
     * @throws CadizError
     */
    async request<T>({ method = 'GET', isOnce = method !== 'GET', ...rest }: ClientRequest): Promise<T> {
      // Anything else could become part of the host's name, and so show the credential to another host.
      if (`${rest.path}`[0] !== '/') throw invalid('path has no leading /');
      return send({ method, isOnce, ...rest });
    },

    /** What happens in the project, in order and without gaps. */
    events: {
      /**
       * One page, the oldest first; with `wait`, after waiting for an event that many seconds at most.
       *
       * @example
       * const { events, cursor } = await cadiz.events.page({ after: 'latest', wait: 30 });
       */
      page: <Of extends EventType>(asked: EventOptions<Of> = {}) => eventPage(asked),

      /**
       * Events as they happen, until you break off or abort. Failures that pass are waited out. To go on later where you
       * left off, keep the `seq` of the last event, and give it as `after`.
       *
       * @example
       * for await (const { type, data } of cadiz.events.follow({ types: ['file.created', 'file.deleted'] })) {
       *   console.log(type, data.fileName);
       * }
       * @throws CadizError `cursor_expired` if what came after `after` is no longer kept
       */
      async *follow<Of extends EventType>({
        after = 'latest',
        types,
        signal,
      }: FollowOptions<Of> = {}): AsyncGenerator<Event<Of>, void> {
        for (let cursor = `${after}`; ; ) {
          // No longer than the timeout of the request allows.
          const wait = cursor === 'latest' ? 0 : Math.min(30, Math.ceil((options.timeout ?? 60_000) / 2000));
          const page = await eventPage(
            { after: cursor, wait, limit: 1000, types, signal },
            { retries: Number.POSITIVE_INFINITY },
          );
          cursor = page.cursor;
          yield* page.events;
        }
      },
    },

    /**
     * How much is stored, in the project or in one folder.
     *
     * @example
     * const { fileCount, totalBytes, quotaBytes } = await cadiz.usage();
     */
    usage: async ({ folder }: { folder?: string | undefined } = {}) =>
      get<Usage>('/api/storage/usage', await mine({ folderId: await toFolderId(folder) })),

    /**
     * How much was stored, by UTC day such as `2027-01-31`: the last thirty by default, 366 at most.
     *
     * @example
     * const days = await cadiz.usageDaily({ from: '2027-01-01', to: '2027-01-31' });
     */
    usageDaily: async (range: { from?: string | undefined; to?: string | undefined } = {}) =>
      (await get<{ days: UsageOfDay[] }>('/api/storage/usage/daily', await mine(range))).days,
  };
}
