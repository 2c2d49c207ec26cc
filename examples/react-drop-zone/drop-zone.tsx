import type { Client, Source, UploadOptions } from '@cadiz/client';
import { useUploads } from '@cadiz/client/react';
import { type DragEvent, useState } from 'react';

interface DropZoneProps {
  client: Client;
  options?: UploadOptions;
}

/** Takes files and folders that are dropped or picked, and shows how far each has come. Copy it, and make it yours. */
export function DropZone({ client, options }: DropZoneProps) {
  const { uploads, loaded, total, isPaused, isIdle, add, pause, resume, cancel, retry } = useUploads(client, options);
  const [isOver, setOver] = useState(false);

  async function drop(event: DragEvent): Promise<void> {
    event.preventDefault();
    setOver(false);
    const entries = [...event.dataTransfer.items]
      .map((item) => item.webkitGetAsEntry())
      .filter((entry) => entry !== null);
    for (const entry of entries) add(await filesOf(entry));
  }

  return (
    <section>
      <label
        className={isOver ? 'drop-zone over' : 'drop-zone'}
        onDragOver={(event) => {
          event.preventDefault();
          setOver(true);
        }}
        onDragLeave={() => setOver(false)}
        onDrop={drop}
      >
        Drop files or folders here, or choose them
        <input type="file" multiple onChange={(event) => add(event.target.files ?? [])} />
      </label>
      {uploads.length > 0 && <progress value={loaded} max={total || 1} aria-label="All uploads" />}
      {!isIdle && (
        <button type="button" onClick={() => (isPaused ? resume() : pause())}>
          {isPaused ? 'Go on' : 'Pause'}
        </button>
      )}
      <ul>
        {uploads.map(({ id, name, loaded, size, state, error }) => (
          <li key={id}>
            {name}: {state === 'uploading' ? `${Math.floor((100 * loaded) / (size || 1))} %` : state}
            {error && <em role="alert"> {error.message}</em>}
            {(state === 'waiting' || state === 'uploading') && (
              <button type="button" onClick={() => cancel(id)}>
                Cancel
              </button>
            )}
            {(state === 'failed' || state === 'canceled') && (
              <button type="button" onClick={() => retry(id)}>
                Try again
              </button>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}

/** All files of what was dropped, with their paths. */
async function filesOf(entry: FileSystemEntry): Promise<{ file: Source; path: string }[]> {
  const path = entry.fullPath.slice(1);
  if (entry.isFile) {
    const file = await new Promise<File>((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject));
    return [{ file, path }];
  }
  const reader = (entry as FileSystemDirectoryEntry).createReader();
  const found: { file: Source; path: string }[] = [];
  for (;;) {
    // A reader gives at most a hundred at a time.
    const entries = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (entries.length === 0) return found;
    for (const one of entries) found.push(...(await filesOf(one)));
  }
}
