import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { series } from '../../../scripts/series.mjs';
import { purgeTrash } from '../src/features/trash/purge-trash.ts';
import { toNameKey } from '../src/tree/name-key.ts';
import { type Library, openLibrary } from './library.ts';
import { startTestService, type TestService } from './service.ts';

// Random sequences of every operation on folders and files, compared with a model of plain objects: each answer, and
// the state afterwards.

interface ModelFolder {
  id: string;
  name: string;
  parentId: string | null;
  /** The entry of the trash that it belongs to. */
  entry: string | null;
}

interface ModelFile {
  id: string;
  fileName: string;
  fileSize: number;
  folderId: string | null;
  isTrashed: boolean;
}

interface Counted {
  files: number;
  folders: number;
  bytes: number;
}

type Outcome = { code: string } | { counts?: Counted; restored?: object };

class Model {
  folders = new Map<string, ModelFolder>();
  files = new Map<string, ModelFile>();
  /** Entries of the trash that can be restored, in the order of their deletion. */
  trash: string[] = [];

  live(id: string | null): boolean {
    return id === null || this.folders.get(id)?.entry === null;
  }

  inSight(id: string): boolean {
    const file = this.files.get(id);
    return file !== undefined && !file.isTrashed && this.live(file.folderId);
  }

  children(parentId: string | null): ModelFolder[] {
    return [...this.folders.values()].filter((folder) => folder.parentId === parentId && folder.entry === null);
  }

  path(id: string | null): string[] {
    return id === null ? [] : [id, ...this.path(this.folders.get(id)?.parentId ?? null)];
  }

  tree(id: string): ModelFolder[] {
    const folder = this.folders.get(id);
    return folder ? [folder, ...this.children(id).flatMap((child) => this.tree(child.id))] : [];
  }

  isTaken(name: string, parentId: string | null, except: string[] = []): boolean {
    return this.children(parentId).some((it) => !except.includes(it.id) && toNameKey(it.name) === toNameKey(name));
  }

  filesIn(folders: Iterable<string>): ModelFile[] {
    const ids = new Set(folders);
    return [...this.files.values()].filter(({ folderId, isTrashed }) => !isTrashed && folderId && ids.has(folderId));
  }

  count(folders: string[], files: string[]): Counted {
    const allFolders = new Set(folders);
    const allFiles = new Map(this.filesIn(allFolders).map((file) => [file.id, file]));
    for (const id of files) {
      const file = this.files.get(id);
      if (file) allFiles.set(id, file);
    }
    const bytes = [...allFiles.values()].reduce((sum, { fileSize }) => sum + fileSize, 0);
    return { files: allFiles.size, folders: allFolders.size, bytes };
  }

  changeFolder(id: string, name: string | undefined, parentId: string | null | undefined): Outcome {
    const folder = this.folders.get(id);
    if (!folder || folder.entry !== null) return { code: 'folder_not_found' };
    const newParent = parentId === undefined ? folder.parentId : parentId;
    const newName = name ?? folder.name;
    if (!this.live(newParent)) return { code: 'folder_not_found' };
    if (this.path(newParent).includes(id)) return { code: 'folder_cycle' };
    if (this.isTaken(newName, newParent, [id])) return { code: 'folder_exists' };
    folder.name = newName;
    folder.parentId = newParent;
    return {};
  }

  removeFolder(id: string, recursive: boolean): Outcome {
    if (this.folders.get(id)?.entry !== null) return { code: 'folder_not_found' };
    const isEmpty = this.children(id).length === 0 && this.filesIn([id]).length === 0;
    if (!recursive && !isEmpty) return { code: 'folder_not_empty' };
    for (const folder of this.tree(id)) folder.entry = id;
    this.trash.push(id);
    return {};
  }

  changeFile(id: string, fileName: string | undefined, folderId: string | null | undefined): Outcome {
    const file = this.files.get(id);
    if (!file || !this.inSight(id)) return { code: 'file_not_found' };
    if (folderId !== undefined && !this.live(folderId)) return { code: 'folder_not_found' };
    if (fileName !== undefined) file.fileName = fileName;
    if (folderId !== undefined) file.folderId = folderId;
    return {};
  }

  removeFile(id: string): Outcome {
    const file = this.files.get(id);
    if (!file || !this.inSight(id)) return { code: 'file_not_found' };
    file.isTrashed = true;
    this.trash.push(id);
    return {};
  }

  restoreFile(id: string): Outcome {
    const file = this.files.get(id);
    if (this.inSight(id)) return { restored: { movedToRoot: false, renamedFrom: null } };
    if (!file || !this.trash.includes(id)) return { code: 'file_not_found' };
    const movedToRoot = !this.live(file.folderId);
    if (movedToRoot) file.folderId = null;
    file.isTrashed = false;
    this.trash = this.trash.filter((entry) => entry !== id);
    return { restored: { movedToRoot, renamedFrom: null } };
  }

  restoreFolder(id: string): Outcome {
    const folder = this.folders.get(id);
    if (folder?.entry === null) return { restored: { movedToRoot: false, renamedFrom: null } };
    if (!folder || !this.trash.includes(id)) return { code: 'folder_not_found' };
    const movedToRoot = !this.live(folder.parentId);
    if (movedToRoot) folder.parentId = null;
    const before = folder.name;
    for (let n = 2; this.isTaken(folder.name, folder.parentId); n += 1) folder.name = `${before} (${n})`;
    for (const it of this.folders.values()) if (it.entry === id) it.entry = null;
    this.trash = this.trash.filter((entry) => entry !== id);
    return { restored: { movedToRoot, renamedFrom: folder.name === before ? null : before } };
  }

  emptyTrash(): Outcome {
    const folders = [...this.folders.values()].filter(({ entry }) => entry && this.trash.includes(entry));
    const counts = this.count(
      folders.map(({ id }) => id),
      this.trash.filter((id) => this.files.has(id)),
    );
    this.trash = [];
    return { counts };
  }

  bulk(
    action: 'move' | 'delete' | 'restore',
    fileIds: string[],
    folderIds: string[],
    folderId: string | null,
  ): Outcome {
    const entries = folderIds.filter((id) => this.trash.includes(id));
    /** What was deleted with a chosen folder may be named with it. */
    const comesBack = (id: string) => {
      const file = this.files.get(id);
      const { entry = null } = this.folders.get(file ? (file.folderId ?? '') : id) ?? {};
      return !file?.isTrashed && entry !== null && entries.includes(entry);
    };
    const isThere = (id: string) => {
      if (action === 'restore') return this.trash.includes(id) || comesBack(id);
      return this.files.has(id) ? this.inSight(id) : this.live(id);
    };
    if (!fileIds.every(isThere)) return { code: 'file_not_found' };
    if (!folderIds.every(isThere)) return { code: 'folder_not_found' };
    const trees =
      action === 'restore'
        ? [...this.folders.values()].filter(({ entry }) => entry && folderIds.includes(entry))
        : folderIds.flatMap((id) => this.tree(id));
    const counts = this.count(
      trees.map(({ id }) => id),
      fileIds,
    );
    if (action === 'move') {
      if (!this.live(folderId)) return { code: 'folder_not_found' };
      if (this.path(folderId).some((id) => folderIds.includes(id))) return { code: 'folder_cycle' };
      const names = folderIds.map((id) => toNameKey(this.folders.get(id)?.name ?? ''));
      if (new Set(names).size < names.length) return { code: 'folder_exists' };
      for (const id of folderIds) {
        if (this.isTaken(this.folders.get(id)?.name ?? '', folderId, folderIds)) return { code: 'folder_exists' };
      }
      for (const id of folderIds) this.changeFolder(id, undefined, folderId);
      for (const id of fileIds) this.changeFile(id, undefined, folderId);
    } else if (action === 'delete') {
      const outermost = folderIds.filter(
        (id) =>
          !this.path(id)
            .slice(1)
            .some((above) => folderIds.includes(above)),
      );
      for (const id of outermost) this.removeFolder(id, true);
      for (const id of fileIds) if (this.inSight(id)) this.removeFile(id);
    } else {
      // In the order of the request, but a folder inside another one comes after it.
      const restore = (id: string) => {
        const inside = this.folders.get(this.folders.get(id)?.parentId ?? '')?.entry;
        if (inside && inside !== id && folderIds.includes(inside)) restore(inside);
        if (this.trash.includes(id)) this.restoreFolder(id);
      };
      for (const id of folderIds) restore(id);
      for (const id of fileIds) this.restoreFile(id);
    }
    return { counts };
  }
}

const pick = fc.nat({ max: 1000 });
const name = fc.constantFrom('a', 'A', 'b', 'é', 'E\u0301', 'ß', 'a (2)');
const where = fc.option(pick, { nil: null });
const command = fc.oneof(
  { weight: 8, arbitrary: fc.record({ do: fc.constant('createFolder' as const), name, where }) },
  { weight: 10, arbitrary: fc.record({ do: fc.constant('createFile' as const), size: fc.nat({ max: 9 }), where }) },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('changeFolder' as const),
      which: pick,
      name: fc.option(name, { nil: undefined }),
      where: fc.oneof(where, fc.constant(undefined)),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('changeFile' as const),
      which: pick,
      name: fc.option(name, { nil: undefined }),
      where: fc.oneof(where, fc.constant(undefined)),
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant('removeFolder' as const),
      which: pick,
      recursive: fc.constantFrom(true, true, false),
    }),
  },
  { weight: 8, arbitrary: fc.record({ do: fc.constant('removeFile' as const), which: pick }) },
  { weight: 5, arbitrary: fc.record({ do: fc.constant('restoreFolder' as const), which: pick }) },
  { weight: 5, arbitrary: fc.record({ do: fc.constant('restoreFile' as const), which: pick }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('emptyTrash' as const), purge: fc.boolean() }) },
  {
    weight: 9,
    arbitrary: fc.record({
      do: fc.constant('bulk' as const),
      action: fc.constantFrom('move' as const, 'delete' as const, 'restore' as const),
      files: fc.array(pick, { maxLength: 3 }),
      folders: fc.array(pick, { maxLength: 3 }),
      where,
      dryRun: fc.boolean(),
      onlyTrash: fc.boolean(),
    }),
  },
);
type Command = typeof command extends fc.Arbitrary<infer T> ? T : never;

let service: TestService;

beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service.close());

/** Does the same to the service and to the model, and compares their answers. */
async function run(library: Library, model: Model, step: Command): Promise<void> {
  const { projectId } = library;
  const choose = (ids: string[], which: number) => ids[which % ids.length];
  const folderIds = [...model.folders.keys()];
  const fileIds = [...model.files.keys()];
  const liveIds = folderIds.filter((id) => model.live(id));
  // Sometimes one that is in the trash.
  const toFolder = (which: number | null) =>
    which === null ? null : (choose(which % 5 > 0 ? liveIds : folderIds, which) ?? null);
  const compare = async (method: string, path: string, body: object | undefined, expected: Outcome) => {
    const answer = await library.call(method, path, body);
    const actual = answer.status === 200 ? {} : { code: answer.body.code };
    expect(actual, `${method} ${path} ${JSON.stringify(body)}: ${answer.text}`).toEqual(
      'code' in expected ? expected : {},
    );
    if ('code' in expected) return answer;
    if (expected.restored) expect(answer.body.restored).toEqual(expected.restored);
    if (expected.counts) expect(answer.body).toMatchObject(expected.counts);
    return answer;
  };

  // Gives each deletion a separate moment.
  service.advance(2);
  if (step.do === 'createFolder') {
    const parentId = toFolder(step.where);
    const code = !model.live(parentId)
      ? 'folder_not_found'
      : model.isTaken(step.name, parentId)
        ? 'folder_exists'
        : undefined;
    const body = { projectId, name: step.name, parentId };
    const answer = await compare('POST', '/api/storage/folders', body, code === undefined ? {} : { code });
    if (code === undefined) {
      model.folders.set(answer.body.id, { id: answer.body.id, name: step.name, parentId, entry: null });
    }
  } else if (step.do === 'createFile') {
    const folderId = toFolder(step.where);
    if (!model.live(folderId)) return;
    const { id, fileName, fileSize } = await library.file(folderId, step.size);
    model.files.set(id, { id, fileName, fileSize, folderId, isTrashed: false });
  } else if (step.do === 'emptyTrash') {
    await compare('DELETE', `/api/storage/trash?projectId=${projectId}`, undefined, model.emptyTrash());
    if (!step.purge) return;
    await purgeTrash(service.deps, 1_000_000);
    for (const { id, entry } of [...model.folders.values()]) {
      if (entry && !model.trash.includes(entry)) {
        for (const file of model.filesIn([id])) model.files.delete(file.id);
        model.folders.delete(id);
      }
    }
    for (const { id, isTrashed } of [...model.files.values()]) {
      if (isTrashed && !model.trash.includes(id)) model.files.delete(id);
    }
  } else if (step.do === 'bulk') {
    const known = (ids: string[]) => (step.onlyTrash ? ids.filter((id) => model.trash.includes(id)) : ids);
    const chosen = (ids: string[], which: number[]) => [
      ...new Set(which.flatMap((it) => choose(known(ids), it) ?? [])),
    ];
    const body = {
      projectId,
      action: step.action,
      fileIds: chosen(fileIds, step.files),
      folderIds: chosen(folderIds, step.folders),
      folderId: toFolder(step.where),
    };
    const before = structuredClone({ folders: model.folders, files: model.files, trash: model.trash });
    const expected = model.bulk(step.action, body.fileIds, body.folderIds, body.folderId);
    if (step.dryRun) Object.assign(model, before);
    await compare('POST', '/api/storage/bulk', { ...body, dryRun: step.dryRun }, expected);
  } else {
    const isFile = step.do === 'changeFile' || step.do === 'removeFile' || step.do === 'restoreFile';
    const ids = isFile ? fileIds : folderIds;
    const inTrash = ids.filter((it) => model.trash.includes(it));
    // Most of the restored entries are in the trash.
    const isLikely = step.do.startsWith('restore') && step.which % 4 > 0 && inTrash.length > 0;
    const id = choose(isLikely ? inTrash : ids, step.which);
    if (id === undefined) return;
    const path = `/api/storage/${isFile ? 'files' : 'folders'}/${id}`;
    if (step.do === 'changeFolder' || step.do === 'changeFile') {
      if (step.name === undefined && step.where === undefined) return;
      const to = step.where === undefined ? undefined : toFolder(step.where);
      if (isFile) {
        await compare('PATCH', path, { fileName: step.name, folderId: to }, model.changeFile(id, step.name, to));
      } else await compare('PATCH', path, { name: step.name, parentId: to }, model.changeFolder(id, step.name, to));
    } else if (step.do === 'removeFolder') {
      const expected = model.removeFolder(id, step.recursive);
      await compare('DELETE', `${path}?recursive=${step.recursive}`, undefined, expected);
    } else if (step.do === 'removeFile') await compare('DELETE', path, undefined, model.removeFile(id));
    else if (step.do === 'restoreFile') await compare('POST', `${path}/restore`, undefined, model.restoreFile(id));
    else await compare('POST', `${path}/restore`, undefined, model.restoreFolder(id));
  }
}

/** Checks that listings, trash and counts match the model. */
async function compareAll(library: Library, model: Model): Promise<void> {
  const { body } = await library.call('GET', `/api/storage/list?projectId=${library.projectId}`);
  const byId = (a: { id: string }, b: { id: string }) => (a.id < b.id ? -1 : 1);
  expect(body.folders.map(({ id, name, parentId }: ModelFolder) => ({ id, name, parentId })).sort(byId)).toEqual(
    [...model.folders.values()]
      .filter(({ entry }) => entry === null)
      .map(({ id, name, parentId }) => ({ id, name, parentId }))
      .sort(byId),
  );
  // Folder by folder, as people look at them.
  for (const folderId of [null, ...model.folders.keys()]) {
    if (!model.live(folderId)) continue;
    const { files } = await library.listed(folderId ?? 'root');
    expect(files).toEqual(
      [...model.files.values()]
        .filter((file) => !file.isTrashed && file.folderId === folderId)
        .map(({ id }) => id)
        .sort(),
    );
  }
  const entries = (await library.trash()).map(({ id, files, folders, bytes }) => ({ id, files, folders, bytes }));
  const expected = model.trash.map((id) => ({
    id,
    ...model.count(
      [...model.folders.values()].filter(({ entry }) => entry === id).map((folder) => folder.id),
      model.files.has(id) ? [id] : [],
    ),
  }));
  expect(entries.sort(byId)).toEqual(expected.sort(byId));
  const { rows } = await service.deps.db.pool.query(
    `select (select coalesce(sum(file_count), 0)::int from project_usage where project_id = $1) as files,
            (select coalesce(sum(total_bytes), 0)::int from project_usage where project_id = $1) as bytes`,
    [library.projectId],
  );
  const all = [...model.files.values()];
  expect(rows[0]).toEqual({ files: all.length, bytes: all.reduce((sum, { fileSize }) => sum + fileSize, 0) });
}

test('any sequence of operations on folders and files matches the model', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(command, { minLength: 60, maxLength: 120, size: 'max' }), async (steps) => {
      const library = await openLibrary(service);
      const model = new Model();
      for (const step of steps) await run(library, model, step);
      await compareAll(library, model);
    }),
    { numRuns: Number(process.env.MODEL_RUNS ?? series({ full: 12, short: 5 })), endOnFailure: true },
  );
}, 600_000);
