import { closeSync, fstatSync, openSync, readSync } from 'node:fs';

/** The index file is not what LMDB wrote. LMDB itself would end the process when it reads most such files. */
export class IndexFileDamaged extends Error {}

/** One of the two pages that say where everything else is. */
interface Meta {
  pageBytes: number;
  freeRoot: Tree;
  mainRoot: Tree;
  lastPage: number;
  transaction: bigint;
}

interface Tree {
  /** undefined if it is empty */
  root: number | undefined;
  depth: number;
}

// LMDB's format 2, as its `mdb.c` (the branch that lmdb-js brings along) defines it in MDB_page_header, MDB_meta, MDB_db, MDB_node
// and MDB_ovpage, for 64-bit little-endian machines. Offsets in bytes.
const pageHeaderBytes = 24; // page number 8, transaction 8, pad 2, flags 2, lower 2 and upper 2, or pages 4
const transactionAt = 8;
const flagsAt = 18;
const lowerAt = 20;
const upperAt = 22;
const overflowPagesAt = 20;
const branch = 0x01;
const leaf = 0x02;
const overflow = 0x04;
const metaFlag = 0x08;
const metaBytes = pageHeaderBytes + 24 + 2 * 48 + 16;
const magic = 0xbeefc0de;
const knownFormat = 2;
const treesAt = pageHeaderBytes + 24; // magic 4, version 4, address 8, map size 8
const treeBytes = 48; // pad 4 (of the first tree: the page's size), flags 2, depth 2, five times 8, of which the last is the root
const nodeHeaderBytes = 8; // low 2, high 2, flags 2, size of the key 2
const inOverflow = 0x01;
const treeFlag = 0x02;
const overflowNodeBytes = 24; // page number 8, transaction 8, pages 8
const noPage = 0xffff_ffff_ffff_ffffn;

/**
 * Reads the index file as LMDB would, and checks what LMDB takes for granted: a page that is missing or holds nonsense
 * makes it end the process. Changes nothing. The contents of keys and values are not checked.
 *
 * All pages are walked through if `thorough`, or if the file ends before the last page, which is no damage if only free
 * pages are missing. Otherwise two pages are read, however large the index is.
 *
 * @throws IndexFileDamaged, whose message continues "The index …", or the system's error
 */
export function checkIndexFile(path: string, { thorough }: { thorough: boolean }): void {
  const fd = openSync(path, 'r');
  try {
    const fileBytes = fstatSync(fd).size;
    const meta = readNewestMeta(fd);
    const isCut = fileBytes < (meta.lastPage + 1) * meta.pageBytes;
    if (thorough || isCut) walk(fd, Math.floor(fileBytes / meta.pageBytes), meta);
  } finally {
    closeSync(fd);
  }
}

function damage(what: string): IndexFileDamaged {
  return new IndexFileDamaged(what);
}

function read(fd: number, position: number, bytes: number): Buffer {
  const buffer = Buffer.alloc(bytes);
  const found = readSync(fd, buffer, 0, bytes, position);
  if (found === bytes) return buffer;
  throw damage(`is cut off after ${position + found} bytes`);
}

function readNewestMeta(fd: number): Meta {
  const first = readMeta(read(fd, 0, metaBytes), 0);
  const second = readMeta(read(fd, first.pageBytes, metaBytes), 1);
  return second.transaction > first.transaction ? second : first;
}

function readMeta(page: Buffer, number: number): Meta {
  const pageBytes = page.readUInt32LE(treesAt);
  const isMeta = (page.readUInt16LE(flagsAt) & metaFlag) !== 0 && page.readUInt32LE(pageHeaderBytes) === magic;
  if (!isMeta || (page.readUInt32LE(pageHeaderBytes + 4) & 0xffff) !== knownFormat) {
    throw damage(`is damaged (page ${number} is not the head of an LMDB file of format ${knownFormat})`);
  }
  const isPowerOfTwo = (pageBytes & (pageBytes - 1)) === 0;
  if (pageBytes < 512 || pageBytes > 65536 || !isPowerOfTwo) throw damage(`is damaged (pages of ${pageBytes} bytes)`);
  const end = treesAt + 2 * treeBytes;
  return {
    pageBytes,
    freeRoot: readTree(page, treesAt),
    mainRoot: readTree(page, treesAt + treeBytes),
    lastPage: Number(page.readBigUInt64LE(end)),
    transaction: page.readBigUInt64LE(end + 8),
  };
}

function readTree(buffer: Buffer, at: number): Tree {
  const root = buffer.readBigUInt64LE(at + 40);
  return { root: root === noPage ? undefined : Number(root), depth: buffer.readUInt16LE(at + 6) };
}

/** Every page that a tree refers to must be in the file, have the expected type, and be referred to once. */
function walk(fd: number, pagesInFile: number, { pageBytes, freeRoot, mainRoot, lastPage, transaction }: Meta): void {
  const seen = new Uint8Array(Math.ceil((Math.min(lastPage + 1, pagesInFile) + 1) / 8));

  function visit(number: number, pages: number): void {
    if (!Number.isSafeInteger(number + pages)) throw damage(`is damaged (it refers to page ${number})`);
    for (let page = number; page < number + pages; page += 1) {
      if (page < 2 || page > lastPage) throw damage(`is damaged (it refers to page ${page}, which it does not have)`);
      if (page >= pagesInFile) throw damage(`is cut off: page ${page} is missing`);
      const bit = 1 << (page & 7);
      if ((seen[page >> 3] ?? 0) & bit) throw damage(`is damaged (it refers to page ${page} twice)`);
      seen[page >> 3] = (seen[page >> 3] ?? 0) | bit;
    }
  }

  function readPage(number: number, bytes: number, flag: number): Buffer {
    const page = read(fd, number * pageBytes, bytes);
    const isOurs = page.readBigUInt64LE(0) === BigInt(number) && page.readUInt16LE(flagsAt) === flag;
    // LMDB takes a page from the future for one that it has in memory.
    if (isOurs && page.readBigUInt64LE(transactionAt) <= transaction) return page;
    throw damage(`is damaged (page ${number} has changed)`);
  }

  function walkTree({ root, depth }: Tree): void {
    if (root !== undefined) walkPage(root, depth);
  }

  /** @param level - height of the page; leaves have 1 */
  function walkPage(number: number, level: number): void {
    if (level < 1) throw damage(`is damaged (page ${number} lies too deep)`);
    visit(number, 1);
    const page = readPage(number, pageBytes, level === 1 ? leaf : branch);
    for (const node of nodesOf(page, number)) {
      if (level === 1) walkLeafNode(page, node, number);
      else walkPage(readChild(page, node), level - 1);
    }
  }

  function walkLeafNode(page: Buffer, at: number, number: number): void {
    const flags = page.readUInt16LE(at + 4);
    const dataAt = at + nodeHeaderBytes + page.readUInt16LE(at + 6);
    const dataBytes = page.readUInt16LE(at) | (page.readUInt16LE(at + 2) << 16);
    const isTree = flags === treeFlag && dataBytes === treeBytes;
    if (flags !== 0 && flags !== inOverflow && !isTree) throw damage(`is damaged (a node of page ${number})`);
    const heldBytes = flags === inOverflow ? overflowNodeBytes : dataBytes;
    if (heldBytes < 0 || dataAt + heldBytes > pageBytes) throw damage(`is damaged (a node of page ${number})`);
    if (isTree) walkTree(readTree(page, dataAt));
    if (flags === inOverflow) walkOverflow(Number(page.readBigUInt64LE(dataAt)), dataBytes);
  }

  function walkOverflow(number: number, bytes: number): void {
    visit(number, 1);
    const pages = readPage(number, pageHeaderBytes, overflow).readUInt32LE(overflowPagesAt);
    if (pages * pageBytes < pageHeaderBytes + bytes) throw damage(`is damaged (page ${number} has changed)`);
    visit(number + 1, pages - 1);
  }

  walkTree(freeRoot);
  walkTree(mainRoot);
}

/** Where the nodes of a page start. */
function* nodesOf(page: Buffer, number: number): Generator<number> {
  const lower = page.readUInt16LE(lowerAt);
  const upper = page.readUInt16LE(upperAt);
  if (lower % 2 === 1 || lower > upper || pageHeaderBytes + upper > page.length) {
    throw damage(`is damaged (page ${number} has changed)`);
  }
  for (let pointer = 0; pointer < lower; pointer += 2) {
    const at = pageHeaderBytes + page.readUInt16LE(pageHeaderBytes + pointer);
    const isInside = at >= pageHeaderBytes + upper && at + nodeHeaderBytes <= page.length;
    if (!isInside || at + nodeHeaderBytes + page.readUInt16LE(at + 6) > page.length) {
      throw damage(`is damaged (a node of page ${number})`);
    }
    yield at;
  }
}

/** A branch node has a 48-bit page number where a leaf node has its size and flags. */
function readChild(page: Buffer, at: number): number {
  return page.readUInt16LE(at) + page.readUInt16LE(at + 2) * 2 ** 16 + page.readUInt16LE(at + 4) * 2 ** 32;
}
