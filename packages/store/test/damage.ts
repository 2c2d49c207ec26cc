import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Flips a bit of the byte after this text, wherever it is in the index: LMDB leaves older pages where they were. */
function flipAfter(folder: string, text: string): void {
  const path = join(folder, 'index', 'data.mdb');
  const bytes = readFileSync(path);
  const sought = Buffer.from(text);
  const places: number[] = [];
  for (let at = bytes.indexOf(sought); at >= 0; at = bytes.indexOf(sought, at + 1)) places.push(at + sought.length);
  if (places.length === 0) throw new Error(`The index does not hold ${JSON.stringify(text)}.`);
  for (const at of places) bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at);
  writeFileSync(path, bytes);
}

/** Overwrites with zeros every page of the index that holds this text. */
export function clearPagesWith(folder: string, text: string): void {
  const path = join(folder, 'index', 'data.mdb');
  const bytes = readFileSync(path);
  const pages = [...bytes.toString('latin1').matchAll(new RegExp(text, 'g'))].map(({ index }) => index >> 12);
  if (pages.length === 0) throw new Error(`The index does not hold ${JSON.stringify(text)}.`);
  for (const page of pages) bytes.fill(0, page << 12, (page + 1) << 12);
  writeFileSync(path, bytes);
}

/** Makes the record under this key unreadable. */
export function breakRecord(folder: string, key: string): void {
  flipAfter(folder, `${key}{"`);
}

/** Flips a bit of the byte after this text in the pack that holds it. */
export function flipInPack(folder: string, text: string): void {
  const paths = readdirSync(join(folder, 'packs')).map((name) => join(folder, 'packs', name));
  const path = paths.find((each) => readFileSync(each).includes(text));
  if (path === undefined) throw new Error(`No pack holds ${JSON.stringify(text)}.`);
  const bytes = readFileSync(path);
  const at = bytes.lastIndexOf(text) + text.length;
  bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at);
  writeFileSync(path, bytes);
}
