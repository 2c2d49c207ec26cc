import type { Client, ListedFile } from '@cadiz/client';
import type { Context } from '../context.ts';
import type { Manifest } from './manifest.ts';
import type { Report } from './report.ts';

/** A file, and its place beneath `files/`. */
export interface Placed {
  path: string;
  /** The same, unless another file or a folder has this path. */
  at: string;
  file: ListedFile;
}

/** Where an export goes. */
export interface ExportTarget {
  /** Transfers what is not there yet; what fails goes into the report, by its place. */
  transfer(files: readonly Placed[], folders: readonly string[], report: Report): Promise<void>;
  /** The SHA-256 of what is there, in hex. */
  hash(file: Placed): Promise<string>;
  /** @returns where it is */
  writeManifest(manifest: Manifest): Promise<string>;
}

export interface ExportHow {
  context: Context;
  client: Client;
  concurrency: number;
}
